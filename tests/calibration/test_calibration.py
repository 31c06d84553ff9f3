"""Calibrate, then evaluate: the value meets the target, the next one does not, nothing hangs."""

import math

import pytest

import shuffledp as sd
from shuffledp.calibration import calibrate, most_rounds, required_users
from shuffledp.calibration.target import Target
from shuffledp.errors import NotCertified, ParameterError

FAMILIES = {
    "k-rr": lambda e: sd.KRR(k=10, eps0=e),
    "binary-rr": lambda e: sd.BinaryRR(eps0=e),
    "rappor": lambda e: sd.RAPPOR(d=20, eps0=e),
    "oue": lambda e: sd.OUE(d=20, eps0=e),
    "olh": lambda e: sd.OLH(domain=20, eps0=e),
    "hadamard": lambda e: sd.HadamardResponse(domain=20, eps0=e),
}


@pytest.mark.many(4)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("n", "epsilon", "delta"), [(1000, 1.0, 1e-6), (10**6, 0.1, 1e-10)])
def test_largest_eps0(name, n, epsilon, delta):
    found = calibrate(FAMILIES[name], n=n, epsilon=epsilon, delta=delta)
    assert found.log_delta <= math.log(delta) < found.log_delta_beyond
    assert found.value < found.beyond <= found.value * (1 + 1e-4)
    met = sd.shuffle(FAMILIES[name](found.value), n=n).epsilon(delta=delta)
    missed = sd.shuffle(FAMILIES[name](found.beyond), n=n).epsilon(delta=delta)
    assert met.upper <= epsilon
    assert missed.upper > epsilon
    assert found.randomizer == FAMILIES[name](found.value)
    assert found.to_dict()["randomizer"]["eps0"] == found.value


ASKED_AGAIN = {
    # rounds of it: what an accountant says later has to meet the target too
    "k-rr": (FAMILIES["k-rr"], "largest", 1000),
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
    found = calibrate(
        family,
        n=n,
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        find=find,
        low=1e-3,
        high=0.49 if find == "smallest" else 12.0,
        rtol=1e-4,
    )

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


@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.long)])
def test_how_near_the_next_value_is_changes_nothing_else(rounds):
    """Coarse numbers decide nothing, however far apart the values may be."""
    family = FAMILIES["k-rr"]
    for rtol in (0.5, 1e-2, 1e-3):
        found = calibrate(family, n=1000, epsilon=1.0, delta=1e-5, rounds=rounds, rtol=rtol)
        one = sd.shuffle(family(found.beyond), n=1000)
        missed = one if rounds == 1 else sd.compose([one], rounds=rounds)
        assert missed.delta(epsilon=1.0).upper > 1e-5
        assert found.value < found.beyond <= found.value * (1.0 + rtol) * (1.0 + 1e-3)


@pytest.mark.long
def test_smallest_sigma():
    def family(sigma):
        return sd.Gaussian(sigma=sigma)

    found = calibrate(
        family, n=10_000, epsilon=0.05, delta=1e-6, find="smallest", low=0.5, high=5.0, rtol=1e-2
    )
    assert found.beyond < found.value <= found.beyond * (1 + 1.1e-2)
    # Solvers leave the lone jump out, which takes seconds a question.
    value, beyond = (
        sd.shuffle(family(s), n=10_000).epsilon(delta=1e-6, analysis="label-stealing").upper
        for s in (found.value, found.beyond)
    )
    assert value <= 0.05 * (1 + 1e-6)
    assert beyond > 0.05


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-9), (3.9, 1e-3)])
def test_smallest_n(epsilon, delta):
    mechanism = sd.KRR(k=10, eps0=4.0)
    found = required_users(mechanism, epsilon=epsilon, delta=delta)
    n = int(found.value)
    assert found.beyond == n - 1
    assert sd.shuffle(mechanism, n=n).delta(epsilon=epsilon).upper <= delta
    assert sd.shuffle(mechanism, n=n - 1).delta(epsilon=epsilon).upper > delta


def test_one_user_is_enough_where_the_local_guarantee_is():
    found = required_users(sd.KRR(k=3, eps0=1.0), epsilon=1.0, delta=1e-6)
    assert (found.value, found.beyond) == (1, None)


@pytest.mark.long
def test_most_rounds():
    mechanism = sd.KRR(k=4, eps0=2.0)
    found = most_rounds(mechanism, n=2000, epsilon=2.0, delta=1e-6)
    rounds = int(found.value)
    accountant = sd.shuffle(mechanism, n=2000)
    assert accountant.compose(rounds=rounds).delta(epsilon=2.0).upper <= 1e-6
    assert accountant.compose(rounds=rounds + 1).delta(epsilon=2.0).upper > 1e-6


def test_loose_numbers_do_not_decide_that_nothing_meets_it():
    """A target between the loose and the tight upper end, at the last value that may be tried."""
    mechanism, n, epsilon = sd.KRR(k=5, eps0=3.0), 3000, 0.4
    one = [sd.shuffle(mechanism, n=n, rtol=rtol).log_upper(epsilon) for rtol in (1e-3, 1e-6)]
    assert one[1] < one[0]
    delta = math.exp(0.5 * (one[0] + one[1]))
    assert required_users(mechanism, epsilon=epsilon, delta=delta, most=n).value == n
    assert most_rounds(mechanism, n=n, epsilon=epsilon, delta=delta).value == 1
    found = calibrate(
        lambda e: sd.KRR(k=5, eps0=e), n=n, epsilon=epsilon, delta=delta, low=3.0, high=4.0
    )
    assert 3.0 <= found.value < 3.01


def test_all_values_meet_it():
    found = calibrate(FAMILIES["k-rr"], n=1000, epsilon=5.0, delta=1e-6, high=4.0)
    assert (found.value, found.beyond, found.log_delta_beyond) == (4.0, None, None)
    assert "not certified" not in str(found)


def test_no_value_meets_it_and_what_would():
    with pytest.raises(NotCertified, match=r"n = 10; it would with n = ([\d,]+) users") as error:
        calibrate(FAMILIES["k-rr"], n=10, epsilon=1e-6, delta=1e-6)
    users = int(str(error.value).split("n = ")[-1].split()[0].replace(",", ""))
    assert sd.shuffle(FAMILIES["k-rr"](1e-4), n=users).delta(epsilon=1e-6).upper <= 1e-6
    with pytest.raises(NotCertified, match="wanted a larger target"):
        required_users(sd.KRR(k=3, eps0=5.0), epsilon=0.01, delta=1e-6, most=100)
    with pytest.raises(NotCertified, match="it would with"):
        most_rounds(sd.KRR(k=3, eps0=5.0), n=100, epsilon=0.01, delta=1e-6)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n": 0}, "n = 0"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"rounds": 0}, "rounds"),
        ({"find": "best"}, "find"),
        ({"low": 0.0}, "low"),
        ({"low": 5.0, "high": 4.0}, "high"),
        ({"rtol": 0.0}, "rtol"),
        ({"trust": "me"}, "trust"),
    ],
)
def test_bad_input(change, word):
    settings = {"n": 1000, "epsilon": 1.0, "delta": 1e-6, **change}
    with pytest.raises(ParameterError, match=word):
        calibrate(FAMILIES["k-rr"], **settings)


@pytest.mark.parametrize(
    "family", [sd.KRR, sd.BinaryRR, sd.PureDUMP, sd.KRR(k=3, eps0=1.0), 4.0, None]
)
@pytest.mark.parametrize("rounds", [1, 3])
def test_what_is_no_function_of_one_number_is_told_what_one_is(family, rounds):
    words = (
        r"^family = .*: wanted a function of one number, such as lambda e: sd\.KRR\(k=10, eps0=e"
    )
    with pytest.raises(ParameterError, match=words):
        sd.calibrate(family, n=1000, epsilon=1.0, delta=1e-6, rounds=rounds)


@pytest.mark.long
def test_rounds_take_few_certified_evaluations(monkeypatch):
    """Each is a composition; estimates find the place, certified ends close in from there."""
    counted = []
    plain = Target.log_upper

    def log_upper(self, *asked):
        counted.append(asked)
        return plain(self, *asked)

    monkeypatch.setattr(Target, "log_upper", log_upper)
    found = sd.calibrate(
        lambda e: sd.KRR(k=10, eps0=e), n=10_000, epsilon=1.0, delta=1e-6, rounds=10
    )
    assert found.log_delta <= math.log(1e-6) < found.log_delta_beyond
    # eps' own search ends a tenth of 5e-4 from where it could.
    assert abs(found.beyond / found.value - 1.0) <= 2e-4
    assert len(counted) <= 8


def test_both_questions_about_a_value_share_its_account(monkeypatch):
    """eps at the value that is returned was worked out from nothing, as delta had been before."""
    asked = {"delta": [], "epsilon": []}

    def eps0_of(composed):
        return composed.parts[0][0].eps0

    def log_upper(self, one):
        asked["delta"].append(one)
        return 3.0 * eps0_of(one) - 20.0

    def upper_epsilon(self, *, delta):
        asked["epsilon"].append(self)
        return 1.0

    monkeypatch.setattr(Target, "log_upper", log_upper)
    monkeypatch.setattr(sd.Composed, "upper_epsilon", upper_epsilon)
    found = calibrate(FAMILIES["k-rr"], n=1000, epsilon=1.0, delta=1e-6, rounds=5, start=2.0)
    assert [eps0_of(one) for one in asked["epsilon"]] == [found.value]
    assert any(one is asked["epsilon"][0] for one in asked["delta"])
