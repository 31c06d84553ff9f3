"""Every registered mechanism and protocol: calibrate, evaluate again, and the next value fails."""

import math

import pytest

import shuffledp as sd
from catalogue import CATALOGUE
from shuffledp.calibration import calibrate

N, EPSILON, DELTA, RTOL = 2000, 1.0, 1e-5, 2e-3


RANDOMIZERS = {n: e for n, e in CATALOGUE.items() if n in sd.randomizer_names()}
LARGEST = {n: e for n, e in RANDOMIZERS.items() if e.find == "largest"}
SMALLEST = {n: e for n, e in RANDOMIZERS.items() if e.find == "smallest"}
PROTOCOLS = {n: e for n, e in CATALOGUE.items() if n in sd.protocol_names()}


def slow_are_long(entries):
    return [
        pytest.param(n, marks=[pytest.mark.long] if e.calibrated_slowly else [])
        for n, e in entries.items()
    ]


def test_no_registered_name_is_left_out():
    assert set(CATALOGUE) == {*sd.randomizer_names(), *sd.protocol_names()}
    # A mechanism that is in neither of both is calibrated by no test.
    assert {*LARGEST, *SMALLEST} == set(RANDOMIZERS)
    assert all(entry.find == "smallest" for entry in PROTOCOLS.values())


def evaluated(source):
    """log of the certified upper end, by a new object of the accuracy that is usual."""
    return sd.shuffle(source, n=N).log_upper(EPSILON)


def check(entry):
    """Brackets of some mechanisms are wide: a value a little inside meets the target as well."""
    family, find = entry.family, entry.find
    account = lambda value: sd.shuffle(family(value), n=N)  # noqa: E731
    ends = {"low": entry.low, "high": entry.high} if find == "smallest" else {}
    found = calibrate(account, epsilon=EPSILON, delta=DELTA, find=find, rtol=RTOL, **ends)
    goal = math.log(DELTA)
    assert evaluated(family(found.value)) <= goal
    if found.beyond is None:
        assert found.value in ends.values()
        return
    assert evaluated(family(found.beyond)) > goal
    assert abs(found.beyond / found.value - 1.0) <= (entry.apart or 1.05 * RTOL)
    assert (found.beyond > found.value) == (find == "largest")
    assert found.account == account(found.value)


@pytest.mark.many(4)
@pytest.mark.parametrize("name", slow_are_long(LARGEST))
def test_largest_eps0(name):
    check(LARGEST[name])


@pytest.mark.parametrize("name", slow_are_long(SMALLEST))
def test_smallest_noise(name):
    check(SMALLEST[name])


@pytest.mark.parametrize("name", slow_are_long(PROTOCOLS))
def test_smallest_noise_of_a_protocol(name):
    check(PROTOCOLS[name])
