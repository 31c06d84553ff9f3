"""What label stealing looks at is whole, of every mechanism."""

import math

import pytest
from flint import arb, ctx

from catalogue import CATALOGUE
from laws import finite_law, ordered_pairs, others_of

MECHANISMS = [mechanism for entry in CATALOGUE.values() for mechanism in entry.audited]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_what_label_stealing_looks_at_is_whole(mechanism):
    """Inputs that have laws, or laws of labels that add up to one; and a theorem."""
    table = mechanism.to_dict()
    found = others_of(table)
    if found is None:
        return
    assert found.step.provenance in {"published", "proved here"}
    assert found.pairs
    if found.how in {"alike", "listed", "mixed"}:
        law = finite_law(table, (*found.pairs[0], *found.inputs))
        assert {x in found.inputs for x in found.pairs[0]} == {True}
        laws = [[one.probability[j] for one in law] for j in range(2 + len(found.inputs))]
    elif found.labels is not None:
        with ctx.workprec(200):
            first = next(found.labels())
            laws = list(zip(*first, strict=True))
    else:
        assert found.how in {"shifts", "span", "family"}
        return
    assert all(sum(law, arb(0)).overlaps(arb(1)) for law in laws)


@pytest.mark.parametrize(("name", "l"), [("blh", 2), ("olh", round(math.exp(1.5)) + 1)])
def test_hashing_by_its_own_number_of_values(name, l):
    """Ball by ball local hashing's, which the enumeration of all functions is compared with."""
    table = {"name": name, "domain": 9, "eps0": 1.5}
    assert ordered_pairs(table) == [(0, 1)]
    found = finite_law(table, (0, 1, 2))
    wanted = finite_law({**table, "name": "local-hash", "l": l}, (0, 1, 2))
    assert [str(one) for one in found] == [str(one) for one in wanted]
