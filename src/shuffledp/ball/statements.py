"""On which theorems the claims of a certificate rest, by mechanism and analysis.

Nothing is read off a certificate here: from the mechanism's table and the analysis that a claim
names follows the theorem (title, source, provenance). Assumptions and the neighbouring relation are
in ``assumptions``. A test holds this against the modules that write certificates.
"""

from __future__ import annotations

from shuffledp import theorems
from shuffledp.theorems import OUTSIDE, Theorem

from .family import GENERIC
from .one_bit import EXACT, EXACT_LOWER, binary_inputs
from .outputs import Parameters
from .registry import not_known, record_of, seen
from .triples import stealing_pairs, stealing_step

__all__ = [
    "GENERIC",
    "lower_statement",
    "named_statement",
    "upper_statement",
    "worst_pair_step",
]

ALONE = "lone-jump"
# A lower end's theorem.
_DATASETS = {"randomizer": "dataset", "protocol": "message-dataset", "family": "family"}
# Theorems of analyses, and of the steps from one round to all. Records have those of mechanisms.
_STATEMENTS = {
    one.key: one
    for one in (
        theorems.BLANKET,
        theorems.STRONGER_CLONE,
        theorems.CLONE,
        theorems.LOCAL,
        theorems.MULTI_MESSAGE,
        theorems.DATASET,
        theorems.FAMILY,
        theorems.MESSAGE_DATASET,
        theorems.LABEL_STEALING,
        theorems.LONE_JUMP,
        theorems.BINARY_EXACT,
        theorems.BINARY_EXACT_LOWER,
        theorems.COMPOSITION,
        theorems.BASIC,
        theorems.REPETITION,
    )
}


def worst_pair_step(mechanism: Parameters) -> Theorem:
    """The theorem that says which pairs of inputs are the worst.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters} of a randomizer.

    Raises
    ------
    NotCertified
        For mechanisms that nothing is known of here.
    """
    parts = record_of(mechanism).parts
    if parts is not None and parts.like:
        return worst_pair_step(mechanism["randomizer"])
    step = record_of(mechanism).step(mechanism)
    if step is None:
        raise not_known(mechanism["name"])
    return step


def upper_statement(mechanism: Parameters, analysis: str, *, last: str = "") -> Theorem | None:
    """The theorem of an upper end; None where this analysis gives this mechanism none.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    analysis : str
        "label-stealing", "lone-jump", "blanket", "clone", "stronger-clone", "local",
        "multi-message", or "binary-exact".
    last : {"", "composition", "basic"}
        The step from one round to all. A local guarantee that is added up has none.
    """
    record = seen(mechanism)
    protocol, family = record.kind == "protocol", record.kind == "family"
    wanted = {"local", "multi-message"} if protocol else {"local", "clone", "stronger-clone"}
    several = last == "composition"
    if not protocol and stealing_pairs(mechanism) is not None:
        wanted.add("label-stealing")
        if record.normal and not last:
            wanted.add(ALONE)
    if not protocol and binary_inputs(mechanism) is not None:
        wanted.add(EXACT)
    if analysis not in (wanted if protocol or family else wanted | {"blanket"}):
        return None
    found = _STATEMENTS[analysis]
    if analysis in {"label-stealing", ALONE}:
        step = stealing_step(mechanism)
        found = step if family else found.with_step(step)
        if several:
            # At each eps the least of both.
            other = _STATEMENTS["stronger-clone"] if family else _blanket(mechanism)
            found = found.with_step(other)
    if analysis == "blanket":
        found = _blanket(mechanism)
    if last == "composition" and analysis == "local":
        return found
    return found.with_step(_STATEMENTS[last]) if last else found


def _blanket(mechanism: Parameters) -> Theorem:
    """The blanket's theorem, and what says which pairs are the worst."""
    found = _STATEMENTS["blanket"].with_step(worst_pair_step(mechanism))
    if found.provenance == "published" and _only_the_victim(mechanism):
        found = found.with_step(OUTSIDE)
    return found


def _only_the_victim(mechanism: Parameters) -> bool:
    """Whether some input's law vanishes on an output that another's does not."""
    record = seen(mechanism)
    if record.parts is not None and record.parts.like:
        return _only_the_victim(mechanism["randomizer"])
    return record.outside is not None and record.outside(mechanism)


def lower_statement(mechanism: Parameters, *, last: str = "") -> Theorem:
    """The theorem of a lower end; ``last`` is "repetition" after several rounds, else empty."""
    key = _DATASETS[seen(mechanism).kind]
    return _STATEMENTS[key].with_step(_STATEMENTS[last]) if last else _STATEMENTS[key]


def named_statement(mechanism: Parameters, analysis: str) -> Theorem | None:
    """The theorem of a lower end by the data set that its witness names; None where there is none.

    Parameters
    ----------
    mechanism : mapping
        {"name": ..., **parameters}.
    analysis : str
        "binary-exact-lower".
    """
    if analysis != EXACT_LOWER or binary_inputs(mechanism) is None:
        return None
    return _STATEMENTS[analysis]
