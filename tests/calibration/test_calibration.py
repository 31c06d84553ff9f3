"""Calibrate, then evaluate: the value meets the target, the next one does not, nothing hangs."""

import math

import pytest

import shuffledp as sd
from shuffledp.calibration import calibrate
from shuffledp.errors import NotCertified

FAMILIES = {
    "k-rr": lambda e: sd.KRR(k=10, eps0=e),
    "binary-rr": lambda e: sd.BinaryRR(eps0=e),
    "rappor": lambda e: sd.RAPPOR(d=20, eps0=e),
    "oue": lambda e: sd.OUE(d=20, eps0=e),
    "olh": lambda e: sd.OLH(domain=20, eps0=e),
    "hadamard": lambda e: sd.HadamardResponse(domain=20, eps0=e),
}
K_RR = FAMILIES["k-rr"]
FEWEST = {"find": "smallest", "whole": True, "what": "n"}
MOST = {"high": 10**6, "whole": True, "what": "rounds"}


def among(family, **setting):
    return lambda value: sd.shuffle(family(value), **setting)


def users(mechanism, **setting):
    return lambda n: sd.shuffle(mechanism, n=n, **setting)


ASKED_AGAIN = {
    # rounds of it: what an accountant says later has to meet the target too
    "k-rr": (K_RR, "largest", 1000),
    "oue": (FAMILIES["oue"], "largest", 10_000),
    "binary-rr": (FAMILIES["binary-rr"], "largest", 10_000),
    "laplace": (lambda e: sd.Laplace(eps0=e), "largest", 10_000),
    "discrete-laplace": (lambda e: sd.DiscreteLaplace(top=5, eps0=e), "largest", 1000),
    "cheu-zhilyaev": (lambda f: sd.CheuZhilyaev(d=5, f=f, blankets=4), "smallest", 1000),
}


@pytest.mark.many(2)
@pytest.mark.parametrize("rounds", [1, 2, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ASKED_AGAIN)
def test_who_asks_an_accountant_later_reads_that_the_target_is_met(name, rounds):
    family, find, n = ASKED_AGAIN[name]
    epsilon, delta = 1.0, 1e-5
    high = 0.49 if find == "smallest" else 12.0
    account = among(family, n=n, rounds=rounds)
    target = {"epsilon": epsilon, "delta": delta}
    found = calibrate(account, **target, find=find, low=1e-3, high=high, rtol=1e-4)

    def asked(value):
        one = sd.shuffle(family(value), n=n)
        return one if rounds == 1 else sd.compose([one], rounds=rounds)

    assert asked(found.value).delta(epsilon=epsilon).upper <= delta
    assert asked(found.value).epsilon(delta=delta).upper <= epsilon
    if found.beyond is not None:
        assert asked(found.beyond).log_upper(epsilon) > math.log(delta)
        # A value further inside is one at which eps, whose search ends sooner, meets it too.
        assert abs(found.value / found.beyond - 1.0) < 3e-3
    if rounds > 1:
        assert asked(found.value).log_upper(epsilon) == found.log_delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-9), (3.9, 1e-3)])
def test_smallest_n(epsilon, delta):
    account = users(sd.KRR(k=10, eps0=4.0))
    found = calibrate(account, epsilon=epsilon, delta=delta, **FEWEST)
    assert found.beyond == found.value - 1
    assert account(found.value).delta(epsilon=epsilon).upper <= delta
    assert account(found.beyond).delta(epsilon=epsilon).upper > delta
    assert str(found).startswith(f"n = {found.value} meets the target")


def test_one_user_is_enough_where_the_local_guarantee_is():
    found = calibrate(users(sd.KRR(k=3, eps0=1.0)), epsilon=1.0, delta=1e-6, **FEWEST)
    assert (found.value, found.beyond) == (1, None)


@pytest.mark.long
def test_most_rounds():
    account = sd.shuffle(sd.KRR(k=4, eps0=2.0), n=2000)
    again = lambda rounds: account.compose(rounds=rounds)  # noqa: E731
    found = calibrate(again, epsilon=2.0, delta=1e-6, **MOST)
    assert account.compose(rounds=found.value).delta(epsilon=2.0).upper <= 1e-6
    assert account.compose(rounds=found.value + 1).delta(epsilon=2.0).upper > 1e-6


def test_all_values_meet_it():
    found = calibrate(among(K_RR, n=1000), epsilon=5.0, delta=1e-6, high=4.0)
    assert (found.value, found.beyond, found.log_delta_beyond) == (4.0, None, None)
    assert "not certified" not in str(found)


def test_no_value_meets_it_and_what_would():
    with pytest.raises(NotCertified, match=r"it would with n = ([\d,]+) users") as error:
        calibrate(among(K_RR, n=10), epsilon=0.01, delta=1e-6, low=0.5)
    assert str(error.value).startswith("value = 0.5: k-rr at n = 10 does not meet eps = 0.01")
    n = int(str(error.value).split("n = ")[-1].split()[0].replace(",", ""))
    assert sd.shuffle(K_RR(0.5), n=n).delta(epsilon=0.01).upper <= 1e-6
    target = {"epsilon": 0.1, "delta": 1e-6}
    mechanism = sd.BinaryRR(eps0=2.0)
    with pytest.raises(NotCertified, match=r"^n = 100: .* does not .*wanted a larger target"):
        calibrate(users(mechanism), **target, **FEWEST, high=100)
    again = lambda rounds: sd.shuffle(mechanism, n=100, rounds=rounds)  # noqa: E731
    with pytest.raises(NotCertified, match="it would with"):
        calibrate(again, **target, **MOST)


@pytest.mark.long
def test_a_composition_is_solved_for_too():
    """Two mechanisms on the same users, of which one is noisier."""
    first = sd.shuffle(sd.KRR(k=4, eps0=1.0), n=1000)
    both = lambda e: sd.compose([first, sd.shuffle(sd.KRR(k=5, eps0=e), n=1000)])  # noqa: E731
    found = calibrate(both, epsilon=0.5, delta=1e-5, rtol=1e-2)
    assert both(found.value).epsilon(delta=1e-5).upper <= 0.5
    assert both(found.beyond).log_upper(0.5) > math.log(1e-5)
