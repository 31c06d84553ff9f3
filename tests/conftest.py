"""What every test shares: one thread for each worker, no display, and Hypothesis profiles.

Warnings, NumPy's floating-point ones included, are errors: see ``filterwarnings`` in
pyproject.toml.
"""

import os

# Before NumPy or matplotlib are imported: workers share the cores already, and need no screen.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# How long a command takes depends on what else the machine does: stderr must not.
os.environ["SHUFFLEDP_QUIET"] = "1"

from hypothesis import HealthCheck, settings  # noqa: E402, the variables come first

# Examples differ a thousandfold in cost (n, number of classes): time is no sign of a fault.
_SLOW_IS_FINE = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "print_blob": True,
}

# "ci" draws the same examples every time: a red run is the change's fault, never the draw's.
settings.register_profile("ci", derandomize=True, database=None, max_examples=25, **_SLOW_IS_FINE)
settings.register_profile("long", max_examples=2000, **_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
