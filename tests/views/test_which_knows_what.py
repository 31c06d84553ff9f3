"""docs/supported.md: every cell that a call can show."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.accounts.supported import table
from shuffledp.cli import main
from shuffledp.errors import NotCertified, ParameterError

TOGETHER = (Path(__file__).parents[2] / "docs" / "supported.md").read_text(encoding="utf-8")
TABLE = TOGETHER[TOGETHER.index("## Questions") :]
ROWS = {
    cells[0]: cells[1:]
    for cells in (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in TABLE.splitlines()
        if line.startswith("| ") and "messages" not in line
    )
}
KRR, BITS = sd.KRR(k=3, eps0=1.0), sd.RAPPOR(d=3, eps0=1.0)
VIEWS = [
    sd.shuffle(KRR, 8),
    sd.shuffle(BITS, 8, view="sums"),
    sd.shuffle(groups=[(KRR, 8)]),
    sd.shuffle(sd.BinaryRR(eps0=1.0), 8, shuffler=sd.Shuffler(distance=1e-3), changed=2),
]


def cells(start):
    (found,) = [cells for name, cells in ROWS.items() if name.startswith(start)]
    return [cell.startswith("yes") for cell in found]


def works(call):
    try:
        call()
    except (ParameterError, NotCertified, TypeError, AttributeError):
        return False
    return True


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_page_prints_what_can_be_had_together():
    assert table() in TOGETHER


def test_questions_are_answered_or_refused():
    """In one line, which says what is wanted."""
    asked = {
        "`epsilon`": (
            lambda one: one.epsilon(delta=1e-2),
            lambda one: one.delta(epsilon=0.2),
            lambda one: one.profile([0.2]),
        ),
        "`with_n`": (lambda one: one.with_n(15),),
        "`renyi`": (
            lambda one: one.renyi(order=2.0),
            lambda one: one.rdp([2.0]),
            lambda one: one.tradeoff(alpha=0.1),
            lambda one: one.pld(),
        ),
        "`compare`": (lambda one: one.compare(delta=1e-2),),
    }
    for start, calls in asked.items():
        for call in calls:
            assert [works(lambda v=v, call=call: call(v)) for v in VIEWS] == cells(start), start


def test_rounds_of_each():
    assert [works(lambda v=v: v.compose(rounds=2)) for v in VIEWS] == [True, True, True, False]
    for shuffler, known in (
        (sd.Shuffler(shards=2), True),
        (sd.Shuffler(shards=2, assignment="secret"), False),
        (sd.Shuffler(dummies=3), True),
    ):
        one = sd.shuffle(KRR, 20, shuffler=shuffler)
        assert works(lambda one=one: one.compose(rounds=2)) is known
    assert [works(lambda v=v: sd.compose([v])) for v in VIEWS] == cells("`sd.compose`")


def test_values_that_are_solved_for():
    target = {"epsilon": 0.5, "delta": 1e-2}
    bits = sd.BinaryRR(eps0=1.0)
    calls = (
        lambda n: sd.shuffle(KRR, n),
        lambda n: sd.shuffle(bits, n, view="sums"),
        lambda n: sd.shuffle(groups=[(bits, n), (KRR, n)]),
        lambda n: sd.shuffle(bits, n, shuffler=sd.Shuffler(shards=2), changed=2),
    )
    target |= {"find": "smallest", "low": 4, "high": 10_000, "whole": True}
    found = [works(lambda call=call: sd.calibrate(call, **target)) for call in calls]
    assert found == cells("`calibrate`")
    line = ("calibrate", "binary-rr", "-n", 20, "--epsilon", 0.5, "--delta", 1e-2)
    for more in (
        ("--view", "sums"),
        ("--view", "sums", "--added", "discrete-laplace:0.5"),
        ("--view", "sums", "--eps0", 2, "--added", "discrete-laplace"),
    ):
        assert run(*line, *more).exit_code == 0


def test_nothing_can_be_had_together():
    for call in (
        lambda: sd.shuffle(groups=[(KRR, 9)], view="sums"),
        lambda: sd.shuffle(groups=[(KRR, 9)], shuffler=sd.Shuffler(shards=2)),
        lambda: sd.shuffle(BITS, 9, view="sums", shuffler=sd.Shuffler(shards=2)),
        lambda: sd.shuffle(BITS, 9, view="sums", shuffler=sd.Shuffler(shards=2), changed=2),
        lambda: sd.shuffle(sd.PureDUMP(d=4, blankets=1), 9, shuffler=sd.Shuffler(shards=2)),
        lambda: sd.shuffle(sd.PureDUMP(d=4, blankets=1), 9, view="sums"),
    ):
        with pytest.raises(
            (ParameterError, NotCertified), match=r"^(view|shuffler|changed|mechanism)"
        ):
            call()
    for call in (
        lambda: sd.shuffle(sd.PureDUMP(d=4, blankets=1), 9, changed=2),
        lambda: sd.shuffle(BITS, 9, view="sums", changed=2).compose(rounds=2).with_n(8),
        lambda: sd.shuffle(groups=[(KRR, 9)], changed=2),
    ):
        assert works(call)
