"""Parts with one key are counted together and print the words of one: those of all of them."""

import itertools

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as distribution

import shuffledp as sd
from objects.examples import NAMES, example
from shuffledp.neighbours import within

pytestmark = pytest.mark.usefixtures("rough_proposals")

KRR, LAPLACE = sd.KRR(k=3, eps0=1.0), sd.Laplace(eps0=1.0)
HALF = within(0.5)
SGD = {"n": 1000, "noise": 2.0, "clip": 1.0, "epochs": 1, "batch": 1}
BATCHES = SGD | {"n": 40, "batch": 4, "sampler": "balls-and-bins"}


def with_others(make, given, others):
    """What is made of some arguments, and with other values of each; of whole numbers as floats."""
    yield make(**given)
    for name, values in others.items():
        for value in values:
            yield make(**{**given, name: value})
    yield make(**{k: float(v) if type(v) is int and k == "eps0" else v for k, v in given.items()})


def shuffled():
    for name in NAMES:
        yield sd.shuffle(example(name), n=20, rtol=1e-2).as_round()
    more = {"n": [20, 21, np.int64(20)], "rtol": [1e-3], "trust": ["published"]}
    for one in (KRR, sd.KRR(k=4, eps0=1), LAPLACE, sd.Laplace(eps0=1.0, low=-0.0, high=2.0)):
        given = {"mechanism": one, "n": 20}
        yield from (x.as_round() for x in with_others(sd.shuffle, given, more))
    for low, high in ((0, 1), (-1.0, 1.0), (0.0, 0.5)):
        yield sd.shuffle(sd.Laplace(eps0=1.0, low=low, high=high), n=20).as_round()
        yield sd.shuffle(sd.Gaussian(sigma=high - low, low=low, high=high), n=20).as_round()
    for distance in (0.25, 0.5):
        yield sd.shuffle(sd.MetricLaplace(scale=1.0, distance=distance), n=20).as_round()


def of_training():
    more = {
        "noise": [4.0],
        "clip": [0.5],
        "batch": [5],
        "epochs": [2],
        "lower": [True],
    }
    yield from (run.epoch for run in with_others(sd.SGD, SGD, more))
    # Of one ratio of clip and noise: the same number.
    yield sd.SGD(**{**SGD, "noise": 4.0, "clip": 2.0}).epoch
    del more["lower"]
    more |= {"per_epoch": [2], "relation": ["add-or-remove-one"], "sampler": ["poisson", "shuffle"]}
    for run in with_others(sd.SGD, BATCHES, more):
        yield from (part for part, _ in run.composed().parts)
    yield sd.SGD(**{**BATCHES, "noise": 4.0, "clip": 2.0}).composed().parts[0][0]


def central():
    relations = [
        "replace-one",
        "add-or-remove-one",
        "replace-special",
        HALF,
        within(1),
    ]
    more = {"sensitivity": [2, 2.0, 1], "relation": relations, "sigma": [2, 4.0]}
    yield from with_others(sd.central.gaussian, {"sigma": 2.0}, more)
    yield sd.central.gaussian(sigma=4.0, sensitivity=2.0)
    more = {"delta": [0, -0.0, 1e-7, 1e-7 * (1 + 1e-9)], "relation": relations}
    for epsilon in (0.0, -0.0, 1, 1.0, 1.0 + 1e-12):
        yield from with_others(sd.central.approximate, {"epsilon": epsilon}, more)
    plds = [
        distribution.from_randomized_response(noise, 2, value_discretization_interval=grid)
        for noise, grid in ((0.25, 1e-2), (0.5, 1e-2), (0.25, 2e-2))
    ]
    for pld in plds:
        yield from (sd.central.from_pld(pld, relation=relation) for relation in relations)


def words(part):
    """All that is printed of a part, and what says by which bound."""
    theorems = (part.upper_theorem, part.lower_theorem)
    said = (part.label, part.relation, part.relation.sentence, part.assumptions, dict(part.at))
    return said, theorems, part.eps0, repr(part)


def test_parts_of_one_key_print_one_text():
    parts = list(itertools.chain.from_iterable(way() for way in (shuffled, of_training, central)))
    known = {}
    for part in parts:
        assert words(known.setdefault(part.key, part)) == words(part)
    # Settings do meet: a key that told all of them apart would not count rounds together.
    assert 60 < len(known) < len(parts)
