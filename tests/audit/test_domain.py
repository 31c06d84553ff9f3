"""Values outside the domain: refused, hidden as well as others, or passed through."""

import sys

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from shuffledp.audit import (
    AuditPlan,
    Command,
    collected,
    outside_values,
    result_of,
    with_outside,
)
from shuffledp.errors import NotCertified, ParameterError

K = sd.KRR(k=10, eps0=1.0)
NOISE = sd.Laplace(eps0=1.0)


def taken(mechanism, program):
    return of_both(mechanism, programs.honest(mechanism), program)


def of_both(mechanism, inside, program, values=None, reports=2_000):
    """One program for the values of the domain, another one for others."""
    plan = AuditPlan(randomizer=mechanism, reports=reports, alpha=0.01)
    tally = with_outside(program, plan, collected(plan, inside), values=values)
    return result_of(plan, tally)


def refused(result):
    return tuple(value for value, counts in result.tally.outside if counts is None)


def outside_findings(result):
    values = {repr(value) for value, _ in result.tally.outside}
    return [f for f in result.findings if values & set(f.subject.split(" against "))]


def test_our_own_refuse():
    for mechanism in (K, NOISE, sd.OUE(d=5, eps0=1.0), sd.DiscreteLaplace(top=4, eps0=1.0)):
        result = taken(mechanism, mechanism.randomize)
        assert result.verdict == "not refuted"
        assert refused(result) == outside_values(result.plan)
        assert not outside_findings(result)


@pytest.mark.parametrize(
    ("mechanism", "program"),
    [
        (K, np.asarray),
        (NOISE, programs.numpy_laplace(1.0)),
        (K, lambda v: np.where(np.asarray(v) < 10, 0, 3)),
    ],
    ids=["passed through", "noise around it", "always the same"],
)
def test_what_is_passed_through_is_refuted(mechanism, program):
    result = taken(mechanism, program)
    assert result.verdict == "refuted"
    assert not refused(result)
    assert any(words.startswith("Taken, though") for words in result.said)


@pytest.mark.parametrize("mechanism", [K, NOISE], ids=["k-rr", "laplace"])
def test_values_that_are_clipped_first_are_not_refuted(mechanism):
    inner = programs.honest(mechanism, start=50)
    top = 9 if mechanism is K else 1.0
    result = taken(mechanism, lambda v: inner(np.clip(v, 0, top)))
    assert result.verdict == "not refuted"
    assert not refused(result)
    assert outside_findings(result)


def test_mechanisms_of_other_values_want_to_be_told():
    plan = AuditPlan(randomizer=sd.GaussianBall(d=2, sigma=1.0), reports=200)
    with pytest.raises(NotCertified, match="has to be said"):
        outside_values(plan)
    program = plan.randomizer
    found = of_both(program, programs.honest(program), program.randomize, [[5.0, 0.0]])
    assert refused(found) == ([5.0, 0.0],)


def test_a_program_that_writes_nothing_refuses():
    """And one that writes some reports and not others answers what cannot be judged."""
    result = taken(K, lambda v: np.asarray(v)[:0])
    assert refused(result) == outside_values(result.plan)
    assert result.to_dict()["tally"]["outside"] == [[v, None] for v in refused(result)]
    with pytest.raises(ParameterError, match="2,000 or none at all of the value 10"):
        taken(K, lambda v: np.zeros(len(v) // 2, dtype=np.int64))


@pytest.mark.parametrize(
    "answer",
    [lambda v: [f"no such item: {x}" for x in v], lambda v: [{"item": x} for x in v]],
    ids=["an error for each", "no numbers"],
)
def test_what_is_sent_and_is_no_report_is_no_refusal(answer):
    result = taken(K, answer)
    assert result.verdict == "refuted"
    assert not refused(result)
    assert result.refutations[0].cell == "outside the message space"


@pytest.mark.parametrize(
    "answer", [lambda v: 7, lambda v: np.array(7), lambda v: ["no such item"], lambda v: "no"]
)
def test_other_answers_than_one_for_each_value_are_not_judged(answer):
    with pytest.raises(ParameterError, match="2,000 or none at all of the value 10"):
        taken(K, answer)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("print('12 ' * 3_000_000)", "bytes of reports"),
        ("print(12, flush=True); import time; time.sleep(60)", "reports had been written"),
        ("print(12); raise SystemExit(1)", "reports had been written"),
        ("print([1, 2]); print('no such item'); raise SystemExit(1)", "reports had been written"),
        ("print(' ' * 12)", "empty ones"),
        ("print('no such item')", "one report a line"),
    ],
)
def test_commands_that_are_stopped_while_they_write_are_not_judged(program, words):
    command = Command((sys.executable, "-c", program), K, timeout=1.0)
    with pytest.raises(ParameterError, match=words):
        of_both(K, programs.honest(K), command, (12,), reports=200)


@pytest.mark.parametrize(
    "program", ["import time; time.sleep(60)", "print('no such item: 12'); raise SystemExit(1)"]
)
def test_a_command_that_fails_and_wrote_no_report_has_refused(program):
    command = Command((sys.executable, "-c", program), K, timeout=0.5)
    assert refused(of_both(K, programs.honest(K), command, (12,), reports=200)) == (12,)


@pytest.mark.parametrize("eps0", [1.0, 8.0, 12.0, 30.0])
def test_what_no_input_of_the_domain_gives_is_refuted_at_any_eps0(eps0):
    """The ratio of two counts of which one is 0 says little against e^12."""
    mechanism = sd.KRR(k=10, eps0=eps0)
    inside = programs.honest(mechanism)
    assert of_both(mechanism, inside, np.asarray, reports=500).verdict == "refuted"
    honest = programs.honest(mechanism, start=50)
    clipped = of_both(mechanism, inside, lambda v: honest(np.clip(v, 0, 9)), reports=500)
    assert clipped.verdict == "not refuted"


@pytest.mark.parametrize("values", [5, "12", (), (3,), (11, 9), (11, 11), (11, 11.0, 11)])
def test_values_that_are_not_outside_are_refused(values):
    with pytest.raises(ParameterError, match="outside value"):
        of_both(K, programs.honest(K), K.randomize, values, reports=200)
