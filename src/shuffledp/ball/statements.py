"""What a certificate may say of theorems: the verifier's own table.

Nothing is read off a certificate here: from the mechanism's table and the analysis that a claim
names follows the theorem (title, source, provenance). Assumptions and the neighbouring relation are
in ``assumptions``. A test holds this against the modules that write certificates.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from .family import GENERIC
from .one_bit import EXACT, EXACT_LOWER, binary_inputs
from .outputs import Parameters
from .record import Step
from .registry import not_known, record_of, seen
from .theorems import OUTSIDE
from .triples import stealing_pairs, stealing_step

__all__ = [
    "GENERIC",
    "Statement",
    "lower_statement",
    "named_statement",
    "upper_statement",
    "worst_pair_step",
]

ALONE = "lone-jump"
Provenance = Literal["published", "proved here"]


@dataclass(frozen=True)
class Statement:
    """A theorem: its key, what it says, where it stands, and whether all of it is published."""

    key: str
    title: str
    source: str
    provenance: Provenance

    def then(self, step: Statement) -> Statement:
        """The theorem and a further step; published only if both are."""
        both = {self.provenance, step.provenance}
        return Statement(
            self.key,
            f"{self.title}; {step.title}",
            f"{self.source}; {step.source}",
            "published" if both == {"published"} else "proved here",
        )

    def to_dict(self) -> dict[str, str]:
        """As it is written in a certificate."""
        return asdict(self)


# A lower end's theorem.
_DATASETS = {"randomizer": "dataset", "protocol": "message-dataset", "family": "family"}
# Key, what it says, where it stands, provenance: of analyses. Records have those of mechanisms.
_ROWS: tuple[tuple[str, str, str, Provenance], ...] = (
    (
        "blanket",
        "privacy blanket, optimal decomposition bound",
        "Balle, Bell, Gascon, Nissim 2019, Lemma 5.3; Su, Cheng, Wang 2025, Theorem 13",
        "published",
    ),
    (
        "stronger-clone",
        "generic stronger clone, any eps0-LDP randomizers, adaptive too",
        "docs/theory.md, section 5",
        "proved here",
    ),
    (
        "clone",
        "standard clone, any eps0-LDP randomizers, adaptive too",
        "Feldman, McMillan, Talwar 2021, Theorem 3.2",
        "published",
    ),
    (
        "local",
        "local guarantee: shuffling is post-processing",
        "Dwork, Roth 2014, Proposition 2.1",
        "published",
    ),
    (
        "multi-message",
        "one data message among blanket messages of a known law",
        "Su, Cheng, Wang 2025, Theorem 12; docs/theory-parts.md, Theorem 3.1",
        "proved here",
    ),
    (
        "dataset",
        "exact divergence of one pair of neighbouring datasets",
        "Ghazi, Kumar, Manurangsi, Pagh 2020; Su, Cheng, Wang 2025, Theorem 14",
        "published",
    ),
    (
        "family",
        "binary randomized response and 3-RR are among the randomizers the bound is for",
        "Su, Cheng, Wang 2025, Theorem 14, for k-RR with k = 2 and 3",
        "published",
    ),
    (
        "message-dataset",
        "exact divergence of neighbouring datasets, or of a post-processing of it",
        "docs/theory-parts.md, Theorem 3.2",
        "proved here",
    ),
    (
        "label-stealing",
        "label stealing: the victim joins a reservoir of messages or steals another user's label",
        "docs/theory-stealing.md, Theorems 2.3 and 3.1",
        "proved here",
    ),
    (
        "lone-jump",
        "label stealing, one distinguished gain exactly and the others by positive sums",
        "docs/theory-stealing.md, Theorems 2.1 and 9.3",
        "proved here",
    ),
    (
        "binary-exact",
        "one-bit reports: the largest divergence of all data sets and pairs",
        "docs/theory-binary.md, Theorems 2.1, 3.1 and 3.2",
        "proved here",
    ),
    (
        "binary-exact-lower",
        "exact divergence of one pair of neighbouring datasets, others of two values",
        "definition of the divergence; docs/theory-binary.md, Theorem 2.1",
        "published",
    ),
    # From one round to all.
    (
        "composition",
        "adaptive composition of dominating pairs, connect-the-dots discretization",
        ("Zhu, Dong, Wang 2022, adaptive composition; docs/theory-composition.md, sections 1 to 3"),
        "published",
    ),
    (
        "basic",
        "basic composition: eps and delta of the rounds add up",
        "Dwork, Roth 2014, Theorem 3.16 and Corollary B.2",
        "published",
    ),
    (
        "repetition",
        "the same neighbouring datasets in every round, fresh coins, coarse-grained losses",
        "post-processing and independence; docs/theory-composition.md, sections 1 to 3",
        "published",
    ),
)
_STATEMENTS = {row[0]: Statement(*row) for row in _ROWS}


def worst_pair_step(mechanism: Parameters) -> Step:
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


def upper_statement(mechanism: Parameters, analysis: str, *, last: str = "") -> Statement | None:
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
        step = Statement(*stealing_step(mechanism))
        found = step if family else found.then(step)
        if several:
            # At each eps the least of both.
            other = _STATEMENTS["stronger-clone"] if family else _blanket(mechanism)
            found = found.then(other)
    if analysis == "blanket":
        found = _blanket(mechanism)
    if last == "composition" and analysis == "local":
        return found
    return found.then(_STATEMENTS[last]) if last else found


def _blanket(mechanism: Parameters) -> Statement:
    """The blanket's theorem, and what says which pairs are the worst."""
    found = _STATEMENTS["blanket"].then(Statement(*worst_pair_step(mechanism)))
    if found.provenance == "published" and _only_the_victim(mechanism):
        found = found.then(Statement(*OUTSIDE))
    return found


def _only_the_victim(mechanism: Parameters) -> bool:
    """Whether some input's law vanishes on an output that another's does not."""
    record = seen(mechanism)
    if record.parts is not None and record.parts.like:
        return _only_the_victim(mechanism["randomizer"])
    return record.outside is not None and record.outside(mechanism)


def lower_statement(mechanism: Parameters, *, last: str = "") -> Statement:
    """The theorem of a lower end; ``last`` is "repetition" after several rounds, else empty."""
    key = _DATASETS[seen(mechanism).kind]
    return _STATEMENTS[key].then(_STATEMENTS[last]) if last else _STATEMENTS[key]


def named_statement(mechanism: Parameters, analysis: str) -> Statement | None:
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
