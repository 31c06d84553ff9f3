"""Labels' laws of reports made of parts, from those of the parts, for label stealing.

docs/theory-stealing.md, section 5.8: a part's label is dominated, whatever it is multiplied by or
stands beside, by a mixture of its own worst ones; so all combinations of these are enough.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from shuffledp.randomizers.base import Randomizer
from shuffledp.randomizers.beside import side_by_side
from shuffledp.randomizers.composed import grouped
from shuffledp.randomizers.law import JointLaw, without_empty

# Combinations, and classes of outputs of all of them: a second or two of work for each bound.
_MOST_LAWS, _MOST_CLASSES = 800, 400_000

Laws = tuple[JointLaw, ...]


def beside(part: Randomizer) -> Laws | None:
    """Labels' laws of a part that other parts stand beside, which of them being public.

    Of mechanisms all of whose triples are alike, pairs of equal inputs are dominated by others.
    """
    found = part.worst_triples()
    if found is None:
        return None
    if found.theorem.key == "alike-triples":
        ((x0, x1, others),) = found.triples
        return tuple(part.law((x0, x1, x)) for x in others)
    if found.theorem.key == "mixed-triples":
        ((x0, x1, _),) = found.triples
        return tuple(part.law(triple) for triple in itertools.product((x0, x1), repeat=3))
    return part.label_laws() if found.theorem.key == "corner-triples" else None


def times(part: Randomizer) -> tuple[Laws, Laws] | None:
    """Labels' laws of a part whose report stands in one report with others'.

    Those of pairs of any inputs, and those of pairs of equal ones.
    """
    found = part.worst_triples()
    laws = beside(part)
    if found is None or laws is None:
        return None
    if found.theorem.key == "alike-triples":
        third = found.triples[0][2][-1]
        return laws, tuple(part.law((0, 0, x)) for x in (0, third))
    same = tuple(law for law in laws if bool((law.mass[0] == law.mass[1]).all()))
    return laws, same


def parallel_laws(parts: Sequence[Randomizer], shares: Sequence[float]) -> Laws:
    """Of one of the parts' reports, drawn with these probabilities; none where not settled."""
    options = [beside(part) for part in parts]
    if not _few(options, [1] * len(options)):
        return ()
    every = [option for option in options if option is not None]
    return tuple(side_by_side(chosen, shares) for chosen in itertools.product(*every))


def joint_laws(parts: Sequence[Randomizer], most: int) -> Laws:
    """Of all parts' reports together; none where not settled, or where there are too many.

    Parameters
    ----------
    parts : sequence of Randomizer
        The attributes' mechanisms.
    most : int
        At most so many of the victim's attributes differ.
    """
    groups = grouped(parts)
    options = [times(parts[group[0]]) for group in groups]
    known = [option for option in options if option is not None]
    sizes = [len(group) for group in groups]
    every = [any_ + same for any_, same in known]
    if len(known) < len(options) or not _few(every, sizes, product=True):
        return ()
    chosen = []
    for differing in itertools.product(*(range(size + 1) for size in sizes)):
        if 0 < sum(differing) <= most:
            chosen += itertools.product(
                *(
                    itertools.product(
                        itertools.combinations_with_replacement(any_, count),
                        itertools.combinations_with_replacement(same, size - count),
                    )
                    for (any_, same), count, size in zip(known, differing, sizes, strict=True)
                )
            )
    return tuple(_product([law for some in one for laws in some for law in laws]) for one in chosen)


def _few(options: Sequence[Laws | None], sizes: Sequence[int], *, product: bool = False) -> bool:
    """Whether the combinations are all known and not too many, nor their classes of outputs."""
    count, classes = 1, 1 if product else 0
    for option, size in zip(options, sizes, strict=True):
        if not option or any(law.edges is not None for law in option):
            return False
        count *= math.comb(len(option) + size - 1, size)
        widest = max(law.blanket.size for law in option)
        classes = classes * widest**size if product else classes + widest
    return count <= _MOST_LAWS and count * classes <= _MOST_CLASSES


def _product(laws: Sequence[JointLaw]) -> JointLaw:
    """Independent parts, classes of the same ratios not merged."""
    made, rel = np.ones((4, 1)), 0.0
    for law in laws:
        factor = np.vstack([law.mass, law.blanket])
        made = (made[:, :, None] * factor[:, None, :]).reshape(4, -1)
        rel += law.rel + 2.0**-51
    return without_empty(made[:-1], made[-1], rel, ties=False)
