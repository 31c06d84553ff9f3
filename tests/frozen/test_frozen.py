"""What was certified before is still: no answer is looser, none contradicts an earlier one."""

import contextlib
import json
import math

import pytest

import shuffledp as sd
from frozen.freeze import ANSWERS
from frozen.questions import questions
from shuffledp.rounds.composed import GDP_RTOL, RENYI_RTOL

KEPT = json.loads(ANSWERS.read_text(encoding="utf-8"))
ASK = questions()
# Seconds of a processor; the others are asked by `make test-long`.
QUICK = 0.06
# Relative widths that are promised: of eps, and of delta, which falls some ten times as fast; and
# of Renyi divergences what chords may add to the curve. For noise with a density they are wider.
# Chords continued below a curve lose 3.5 times what chords above add.
PROMISED = {
    "epsilon": 1e-6,
    "delta": 1e-5,
    "renyi": 4.0 * RENYI_RTOL,
    "rho": 0.03,
    "mu": GDP_RTOL,
}
# Of rounds what is worth the time, where nothing else is asked for.
FOR_NOISE, FOR_ROUNDS, ROUNDING = 100.0, 5e-4, 1e-12
NOISE = (
    "laplace", "clamped-laplace", "truncated-laplace", "metric-laplace", "laplace-ball",
    "gaussian", "generalized-gaussian", "gaussian-ball", "density", "sgd ",
)  # fmt: skip


# Ends that are looser by more than that, relatively, each with its reason.
LOOSER = {
    # Cells of the blanket are not as fine in bounded work.
    "discrete-gaussian(sigma=5.0, top=10) n=40 epsilon(delta=1e-06)": 2e-3,
    "generalized-gaussian n=10000 epsilon(delta=1e-06)": 2e-4,
    # log delta is -211: a factor of 3 is 0.3 % of eps.
    "metric-laplace n=2000 delta(epsilon=0.5)": 2.0,
    # The upper end is 17 % lower; dots are placed for it alone, and between powers of two.
    "laplace(eps0=1.0) n=10000 rounds=7 epsilon(delta=1e-06)": 3.5e-3,
}


def marks(name):
    return () if KEPT[name]["seconds"] < QUICK else (pytest.mark.long,)


def slack(name, kept, end):
    """What an end may be looser by, relatively: the promised width, or its own if that is more."""
    width = kept.get(f"{end}_width")
    if width is None and ("rounds=" in name or name.startswith(("sgd ", "sums "))):
        # One width, that of the dots which both ends are made of.
        width = kept.get("upper_width")
    promised = PROMISED.get(kept["quantity"], 1e-6)
    if name.startswith(NOISE) and kept["quantity"] in {"epsilon", "delta"}:
        promised *= FOR_NOISE
    if "rounds=" in name and kept["quantity"] in {"epsilon", "delta"}:
        promised = max(promised, FOR_ROUNDS)
    kept_width = width if width is not None and math.isfinite(width) else 0.0
    return max(kept_width, promised, LOOSER.get(name, 0.0)) + ROUNDING


def meets_no_less(found, kept):
    """The target is met, by a value at least as good: more of eps0 or rounds, or fewer users."""
    assert found.log_delta <= math.log(found.delta)
    # As near to the edge as a search for a real number goes. The eps of rounds has to meet the
    # target too, and ends up to its own width above where delta meets it.
    near = 2e-6 if found.account.rounds == 1 else 1e-4
    room = 0.0 if float(kept["value"]).is_integer() else near
    if found.what == "n":
        assert found.value <= kept["value"]
    else:
        assert found.value >= kept["value"] * (1.0 - room)


def test_every_question_kept_is_still_asked():
    # Deltas below 1e-100 are kept no more.
    assert set(KEPT) <= set(ASK)
    assert len(KEPT) > 380


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks(n)) for n in KEPT])
def test_no_answer_is_looser_or_contradicts(name):
    kept = KEPT[name]
    if "error" in kept:
        # What could not be certified may be by now; it may not fail in another way.
        with contextlib.suppress(sd.ShuffleDPError):
            ASK[name]()
        return
    found = ASK[name]()
    if kept["quantity"] == "search":
        meets_no_less(found, kept)
        return
    # Both brackets hold the truth.
    assert found.lower <= kept["upper"]
    assert kept["lower"] <= found.upper
    if found.quantity == "beta":
        # The guarantee of a trade-off is its lower end.
        assert found.lower >= kept["lower"] * (1.0 - 1e-3)
        return
    assert found.upper <= kept["upper"] * (1.0 + slack(name, kept, "upper"))
    assert found.lower >= kept["lower"] * (1.0 - slack(name, kept, "lower"))
