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
settings.register_profile("long", max_examples=60, **_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
# What tests compute in balls, also while they are collected, has digits to spare.
ctx.prec = 300
# Folders of tests that compute nothing in balls.
_AS_USERS = {
    "accounting", "audit", "calibration", "frontend", "frozen", "objects", "page", "papers",
    "protocol", "tests",
}  # fmt: skip


def _place(item):
    """Of an item among those of its function: spread evenly, the same in every run."""
    return int.from_bytes(hashlib.sha256(item.nodeid.encode()).digest()[:8], "big") / 2.0**64


@pytest.fixture(scope="module", autouse=True)
def precision_in_use(request):
    """Balls have 53 bits where tests ask as users do, and many where they compute in balls."""
    with ctx.workprec(53 if request.path.parent.name in _AS_USERS else ctx.prec):
        yield


@pytest.fixture(scope="module")
def rough_proposals():
    """Label stealing with hardly a search, for modules that ask whether ends are true.

    Whatever numbers are proposed an end is true; among few users the search is most of the work.
    """
    from shuffledp.amplification import stealing
    from shuffledp.propose import stealing_ends, stealing_search

    def forget():
        stealing._stealing.cache_clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stealing_search, "_CALLS", 0)
        patch.setattr(stealing_search, "_SWEEPS", 0)
        patch.setattr(stealing_search, "_COARSE", (1.5,))
        patch.setattr(stealing_search, "_FINE", (1.2,))
        patch.setattr(stealing_ends, "_SEARCHES", 1)
        forget()
        yield
    forget()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Doctests stand in src alone: nobody looks for them in hundreds of test modules."""
    return [one for one in (yield) if type(one).__name__ != "DoctestModule"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Before ``-m`` chooses: of a function with ``many`` settings, all but a few are long."""
    functions = {}
    for item in items:
        if item.get_closest_marker("many"):
            functions.setdefault(item.nodeid.split("[")[0], []).append(item)
    for found in functions.values():
        kept = found[0].get_closest_marker("many").args[0]
        for item in sorted(found, key=_place)[kept:]:
            item.add_marker(pytest.mark.long)
