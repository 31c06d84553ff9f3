"""Equal values give equal bits, whatever was asked before, of them or of what they came from."""

import copy
import dataclasses
import functools
import gc
import importlib
import pickle
import pkgutil
import random
import weakref

import pytest

import shuffledp as sd
from objects.examples import DENSITY, NAMES, example
from shuffledp.arithmetic.balls import ctx
from shuffledp.randomizers import Randomizer

# Of each kind of law: atoms, cells, cells and atoms, a tail, several pairs, many inputs, messages.
SOURCES = {
    "k-rr": (sd.KRR(k=10, eps0=4.0), 10_000),
    "few": (sd.KRR(k=3, eps0=1.0), 4),
    "hierarchy": (sd.Hierarchy(domain=64, eps0=2.0), 1000),
    "channel": (sd.Channel([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]), 500),
    "laplace": (sd.Laplace(eps0=2.0), 10_000),
    "gaussian": (sd.Gaussian(sigma=2.0), 1000),
    "discrete": (sd.DiscreteGaussian(top=30, sigma=40.0), 5000),
    "joint": (sd.Joint([sd.Laplace(eps0=1.0), sd.KRR(k=3, eps0=0.5)]), 1000),
    "messages": (sd.PureDUMP(d=8, blankets=5), 1000),
}
# Rounds of these take long.
HEAVY = set(SOURCES) - {"few"}


def questions(name):
    """Questions about one mechanism among n users, and about rounds of it."""
    asked = [lambda a, d=10.0**-k: a.epsilon(delta=d) for k in (3, 6, 8)]
    asked += [lambda a, e=e: a.delta(epsilon=e) for e in (0.01, 0.05, 0.052)]
    asked += [lambda a: a.upper_epsilon(delta=1e-4), lambda a: a.log_upper(0.04)]
    if name not in HEAVY:
        asked += [
            lambda a: a.compose(rounds=4).epsilon(delta=1e-6),
            lambda a: a.compose(rounds=9).delta(epsilon=0.3),
            lambda a: a.compose(rounds=4).epsilon(delta=1e-3),
        ]
    return asked


@pytest.mark.parametrize("name", [*NAMES, "best privunit"])
def test_pairs_and_data_sets_do_not_depend_on_the_precision(name):
    m = sd.PrivUnit.best(d=10, eps0=2.0) if name == "best privunit" else example(name)
    if not isinstance(m, Randomizer):
        return
    said = []
    for bits in (53, 200):
        with ctx.workprec(bits):
            said.append((m.worst_pairs(), m.datasets()))
    assert repr(said[0]) == repr(said[1])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(s, marks=[] if s in {"k-rr", "messages"} else [pytest.mark.long])
        for s in SOURCES
    ],
)
def test_answers_do_not_depend_on_what_was_asked_before(name):
    m, n = SOURCES[name]
    asked = questions(name)
    alone = [question(sd.shuffle(m, n)) for question in asked]
    for seed in (1,):
        order = list(range(len(asked)))
        random.Random(seed).shuffle(order)
        one = sd.shuffle(m, n)
        for i in order:
            assert asked[i](one) == alone[i], i


@pytest.mark.parametrize("name", [name for name in NAMES[::7] if "gaussian" not in name])
def test_mechanisms_keep_nothing_of_their_use(name):
    m = example(name)
    before = pickle.dumps(m)
    acc = sd.shuffle(m, 20)
    acc.delta(epsilon=0.5)
    if isinstance(m, Randomizer):
        repr((m.eps0, m.worst_pairs(), m.datasets()))
    assert pickle.dumps(m) == before
    assert vars(copy.copy(m)).keys() == vars(example(name)).keys()


def test_no_class_has_a_cached_property():
    """A cached property is in ``__dict__``: in what is copied, replaced and compared.

    What is made on the way to one number, one verdict or one run is neither.
    """
    found = []
    workers = ("arithmetic", "bounds", "kernel", "propose", "deployment.setting", "protocol.jobs")
    engine = tuple(f"shuffledp.{name}" for name in workers)
    for module in pkgutil.walk_packages(sd.__path__, "shuffledp."):
        if module.name.endswith("__main__") or module.name.startswith(engine):
            continue
        for name, cls in vars(importlib.import_module(module.name)).items():
            if isinstance(cls, type) and cls.__module__ == module.name:
                kept = (k for k, v in vars(cls).items() if isinstance(v, functools.cached_property))
                found += [f"{module.name}.{name}.{k}" for k in kept]
    assert found == []


@pytest.mark.parametrize(
    ("mechanism", "values"),
    [
        (sd.Channel([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]), [0, 1, 2, 2]),
        (DENSITY, [0.0, 0.3, 1.0, 0.5]),
        (sd.GaussianBall(d=2, sigma=1.0), [[0.0, 1.0], [0.5, 0.5], [0.0, 0.0], [1.0, 0.0]]),
        (sd.GeneralizedGaussian(shape=1.5, scale=0.5), [0.0, 0.3, 1.0, 0.5]),
    ],
    ids=["channel", "density", "gaussian-ball", "generalized-gaussian"],
)
def test_samplers_and_estimators_keep_nothing_in_a_mechanism(mechanism, values):
    new = dataclasses.replace(mechanism)
    held = set(vars(new))
    estimate = mechanism.estimate(mechanism.simulate(values, seed=3))
    found = mechanism.variance()
    assert set(vars(mechanism)) == held
    assert mechanism == new
    for other in (new, copy.copy(mechanism), dataclasses.replace(mechanism)):
        assert other.variance() == found
        again = other.estimate(other.simulate(values, seed=3))
        assert pickle.dumps(again) == pickle.dumps(estimate)


def test_work_is_freed_with_the_value():
    acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=1000)
    acc.epsilon(delta=1e-6)
    part = acc.compose(rounds=2).parts[0][0]
    part.curve()
    gone = weakref.ref(part)
    del acc, part
    gc.collect()
    assert gone() is None


def test_equal_rounds_of_different_accuracy_stay_apart():
    m = sd.KRR(k=10, eps0=4.0)
    loose, usual = (sd.shuffle(m, 1000, rtol=r) for r in (1e-2, 1e-6))
    assert loose.compose(rounds=3).rtol == 1e-2
    assert usual.compose(rounds=3).rtol == 5e-4
    assert sd.shuffle(m, 1000, rtol=1e-8).compose(rounds=3).rtol == pytest.approx(5e-6)
    both = sd.compose([loose, (usual, 2)])
    assert sorted(count for _, count in both.parts) == [1, 2]
    assert both.rounds == 3
    again = sd.compose([usual, sd.shuffle(m, 1000), usual])
    assert [count for _, count in again.parts] == [3]
    assert usual.compose(rounds=3, rtol=1e-3).rtol == 1e-3
    assert loose.compose(rounds=3, rtol=1e-3).rtol == 1e-3
