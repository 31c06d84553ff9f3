"""Which inputs of a mechanism are neighbours, read from the relation that is printed.

``related`` reads the form a relation has in files and in JSON, nothing of the package's; inputs
are listed in the order of the rows of ``channels``.
"""

import itertools
from fractions import Fraction

import shuffledp as sd
from adversary.channels import METRIC_PLACES, rows_of


def inputs_of(mechanism):
    """The inputs whose rows ``channels.rows_of`` gives, in its order."""
    if isinstance(mechanism, sd.PoissonSubsample):
        return inputs_of(mechanism.randomizer)
    if isinstance(mechanism, sd.Joint | sd.Parallel):
        return list(itertools.product(*(inputs_of(part) for part in mechanism.randomizers)))
    if isinstance(mechanism, sd.MetricLaplace):
        low, high = Fraction(mechanism.low), Fraction(mechanism.high)
        return [low + (high - low) * place for place in METRIC_PLACES]
    return list(range(len(rows_of(mechanism))))


def related(form, x0, x1):
    """Whether the two are neighbours, by a relation as it is written in files."""
    if form["key"] == "replace-one":
        return True
    if form["key"] == "within-distance":
        assert form["of"] == "value"
        return abs(Fraction(x0) - Fraction(x1)) <= Fraction(form["distance"])
    if form["key"] == "records":
        assert len(x0) == len(x1) == len(form["parts"])
        differing = [i for i, (a, b) in enumerate(zip(x0, x1, strict=True)) if a != b]
        within = all(related(form["parts"][i], x0[i], x1[i]) for i in differing)
        return within and len(differing) <= form["most"]
    raise AssertionError(form)


def pairs_of(mechanism, form):
    """Places of all unordered pairs of inputs that are neighbours."""
    inputs = list(enumerate(inputs_of(mechanism)))
    pairs = itertools.combinations(inputs, 2)
    return [(i, j) for (i, x), (j, y) in pairs if related(form, x, y)]


def rounds_of(form, labels):
    """The relation of each of these rounds, by name."""
    if form["key"] != "each-round":
        return dict.fromkeys(labels, form)
    found = {one["label"]: one["relation"] for one in form["rounds"]}
    assert len(found) == len(form["rounds"])
    assert set(found) == set(labels)
    return found
