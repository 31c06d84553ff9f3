"""What all accounts answer: one statement of it, kept by every kind."""

import math

import pytest

import shuffledp as sd
from shuffledp.curves import Accountant

BITS = sd.BinaryRR(eps0=1.0)
ONE = sd.shuffle(BITS, 50)
ACCOUNTS = {
    "shuffle": ONE,
    "rounds": sd.shuffle(BITS, 50, trust="published").compose(rounds=2, rtol=0.1),
    "sums": sd.shuffle(BITS, 50, view="sums"),
    "crowd": sd.shuffle(groups=[(BITS, 20), (sd.BinaryRR(eps0=2.0), 30)]),
    "several": sd.shuffle(BITS, 50, changed=2),
    "crowd, several": sd.shuffle(groups=[(BITS, 20), (sd.BinaryRR(eps0=2.0), 30)], changed=2),
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=[pytest.mark.long] * (k == "crowd, several")) for k in ACCOUNTS],
)
def test_the_contract(kind):
    account = ACCOUNTS[kind]
    assert isinstance(account, Accountant)
    bound = account.epsilon(delta=1e-2)
    assert bound.quantity == "epsilon"
    assert 0.0 <= bound.lower <= bound.upper
    there = account.delta(epsilon=0.2)
    assert 0.0 <= there.lower <= there.upper <= 1.0
    assert account.profile([0.2]) == [there]
    for ask in (
        lambda: account.epsilon(delta=0.0),
        lambda: account.epsilon(delta=math.nan),
        lambda: account.delta(epsilon=-1.0),
        lambda: account.epsilon(0.1),
    ):
        with pytest.raises(sd.ParameterError, match=r"delta|epsilon"):
            ask()


@pytest.mark.parametrize("kind", ["rounds", "sums", "crowd", "several"])
def test_single_analyses_are_of_one_round_of_messages(kind):
    for ask, at in (("epsilon", {"delta": 1e-2}), ("delta", {"epsilon": 0.2})):
        with pytest.raises(sd.ParameterError, match="analysis = 'clone': wanted none but of"):
            getattr(ACCOUNTS[kind], ask)(**at, analysis="clone")
