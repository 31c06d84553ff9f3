"""Ends of rounds that contradict each other are a fault in shuffledp, and neither is printed."""

import pytest

import shuffledp as sd
from shuffledp.errors import NotCertified
from shuffledp.rounds.core import Rounds

ROUNDS = sd.shuffle(sd.BinaryRR(eps0=1.0), n=30).compose(rounds=2)


@pytest.fixture
def far_too_high(monkeypatch):
    ends = {True: 1.0, False: 2.0}
    monkeypatch.setattr(Rounds, "_cross", lambda *_, upper: ends[upper])
    plain = Rounds.log_delta
    monkeypatch.setattr(Rounds, "log_delta", lambda *a, **k: plain(*a, **k)._replace(low=-0.5))


@pytest.mark.usefixtures("far_too_high")
@pytest.mark.parametrize(
    "ask", [lambda r: r.epsilon(delta=1e-6), lambda r: r.delta(epsilon=0.5)], ids=["eps", "delta"]
)
def test_contradictions_are_refused(ask):
    with pytest.raises(NotCertified, match="contradict each other"):
        ask(sd.compose([ROUNDS]))


@pytest.mark.long
def test_and_of_curves(monkeypatch):
    monkeypatch.setattr(type(ROUNDS), "_lower_renyi", lambda *_: lambda _order: 5.0)
    for ask in (lambda r: r.renyi(order=3.0), lambda r: r.zcdp()):
        with pytest.raises(NotCertified, match="contradict each other"):
            ask(ROUNDS)


def test_ends_that_agree_but_for_rounding_are_said():
    one = sd.shuffle(sd.KRR(k=4, eps0=1.0), n=1).compose(rounds=2)
    found = one.epsilon(delta=1e-300)
    assert found.lower <= found.upper
