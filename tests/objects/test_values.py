"""Mechanisms, bounds and questions are values: their fields define them, and nothing else does."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import shuffledp as sd
from objects.examples import (
    ARGUMENTS,
    NAMES,
    OTHERS,
    WITH,
    class_of,
    example,
)

pytestmark = pytest.mark.usefixtures("rough_proposals")

FIELDS = [
    (name, field.name)
    for name in NAMES
    for field in dataclasses.fields(class_of(name))
    if field.init
]
BIT = sd.shuffle(sd.BinaryRR(eps0=1.0), n=100)
VALUES = {
    **{name: lambda name=name: example(name) for name in NAMES},
    "shuffled": lambda: sd.shuffle(sd.KRR(k=10, eps0=4.0), n=1000),
    "generic": lambda: sd.generic(eps0=1.0, n=1000),
    "variation ratio": lambda: sd.variation_ratio(p=3.0, beta=0.5, q=3.0, n=100),
    "bound": lambda: BIT.epsilon(delta=1e-3),
    "delta": lambda: BIT.delta(epsilon=0.1),
    "estimate": lambda: BIT.estimate(delta=1e-3, analysis="gaussian"),
    "round": BIT.as_round,
    "composed": lambda: BIT.compose(rounds=3),
    "metric": lambda: sd.shuffle(sd.MetricLaplace(scale=1.0, distance=0.5), 10).compose(rounds=2),
    "central": lambda: sd.compose([sd.central.gaussian(sigma=2.0)]),
    "approximate": lambda: sd.compose([sd.central.approximate(epsilon=0.5, delta=1e-6)]),
    "sgd": lambda: sd.SGD(n=1000, noise=2.0, clip=1.0, epochs=2),
    "sgd round": lambda: sd.SGD(n=1000, noise=2.0, clip=1.0, epochs=2).epoch,
    "index": lambda: sd.shuffle_index(sd.KRR(k=4, eps0=1.0)),
    "comparison": lambda: sd.shuffle(sd.BinaryRR(eps0=1.0), n=10_000).compare(delta=1e-3),
    "calibration": lambda: sd.calibrate(
        lambda eps0: sd.shuffle(sd.BinaryRR(eps0=eps0), n=100), epsilon=0.5, delta=1e-3
    ),
    "analysis": lambda: sd.analyses()[0],
    "pair": lambda: sd.shuffle(sd.KRR(k=3, eps0=1.0), n=100).as_round().groups[0][0].pair,
    "worst pairs": lambda: sd.KRR(k=4, eps0=1.0).worst_pairs(),
}
WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


def made(name, **more):
    return class_of(name)(**{**ARGUMENTS[name], **more})


def test_every_mechanism_is_here():
    assert set(ARGUMENTS) == set(NAMES)


@pytest.mark.many(40)
@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_replace_is_making_it_anew(name, field):
    more = WITH.get((name, field), {field: OTHERS[field][0]})
    old, new = example(name), made(name, **more)
    found = dataclasses.replace(old, **more)
    assert found == new
    assert vars(found).keys() == vars(new).keys()
    for key, value in vars(new).items():
        assert np.all(np.asarray(vars(found)[key] == value)), key
        assert type(vars(found)[key]) is type(value), key
    assert found != old
    if set(more) <= set(ARGUMENTS[name]):
        assert dataclasses.replace(found, **{key: ARGUMENTS[name][key] for key in more}) == old


@pytest.mark.many(20)
@pytest.mark.parametrize("name", VALUES)
def test_copies_are_equal_and_hash_alike(name):
    value, other = VALUES[name](), VALUES[name]()
    for again in (other, *(way(value) for way in WAYS.values())):
        assert again == value
        assert hash(again) == hash(value)
        assert type(again) is type(value)
    assert value != object()


@pytest.mark.parametrize("name", NAMES)
def test_reprs_evaluate_back(name):
    value = example(name)
    again = eval(repr(value), {public: getattr(sd, public) for public in sd.__all__})
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("name", NAMES)
def test_tables_give_the_mechanism_back(name):
    value = example(name)
    assert sd.mechanism_from_dict(value.to_dict()) == value
