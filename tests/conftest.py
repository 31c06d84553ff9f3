"""What every test shares: one thread for each worker, no display, and Hypothesis profiles.

Warnings, NumPy's floating-point ones included, are errors: see ``filterwarnings`` in
pyproject.toml.
"""

import hashlib
import os

# Before NumPy or matplotlib are imported: workers share the cores already, and need no screen.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# How long a command takes depends on what else the machine does: stderr must not.
os.environ["SHUFFLEDP_QUIET"] = "1"

import pytest  # noqa: E402, the variables come first
from flint import ctx  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# Examples differ a thousandfold in cost (n, number of classes): time is no sign of a fault.
_SLOW_IS_FINE = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "print_blob": True,
}

# "ci" draws the same examples every time: a red run is the change's fault, never the draw's.
settings.register_profile("ci", derandomize=True, database=None, max_examples=8, **_SLOW_IS_FINE)
# How much of the long tests to run: all of them take a night, a sample of 0.03 two hours.
SHARE = float(os.environ.get("LONG_SHARE", "1"))
settings.register_profile("long", max_examples=max(20, round(2000 * SHARE)), **_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
# What tests compute in balls, also while they are collected, has digits to spare.
ctx.prec = 300
# Folders of tests that compute nothing in balls.
_AS_USERS = {
    "accounting", "audit", "calibration", "frontend", "frozen", "objects", "page", "papers",
    "protocol", "tests",
}  # fmt: skip
# A test function has all its long settings up to so many run in every sample.
_ALWAYS = 2


def _place(item):
    """Of an item among those of its function: spread evenly, the same in every run."""
    return int.from_bytes(hashlib.sha256(item.nodeid.encode()).digest()[:8], "big") / 2.0**64


@pytest.fixture(scope="module", autouse=True)
def precision_in_use(request):
    """Balls have 53 bits where tests ask as users do, and many where they compute in balls."""
    with ctx.workprec(53 if request.path.parent.name in _AS_USERS else ctx.prec):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Before ``-m`` chooses: most of ``many`` settings are long, of long ones a share runs."""
    for found in _by_function(items, "many"):
        kept = found[0].get_closest_marker("many").args[0]
        for item in found[kept:]:
            item.add_marker(pytest.mark.long)
    if SHARE >= 1.0:
        return
    left_out = set()
    for found in _by_function(items, "long"):
        left_out.update(map(id, found[max(_ALWAYS, round(SHARE * len(found))) :]))
    config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


def _by_function(items, marker):
    """Lists of items with this marker, one for each test function, in an order of their names."""
    functions = {}
    for item in items:
        if item.get_closest_marker(marker):
            functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    return [sorted(found, key=_place) for found in functions.values()]
