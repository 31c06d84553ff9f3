"""What can be had together: one table, printed in docs/supported.md, by which all else is refused.

``shuffle`` asks it for an account, and a deployment file for its certificate, which knows less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shuffledp import _check
from shuffledp.accounts.shuffler import PERFECT, Shuffler
from shuffledp.amplification.messages import Messages
from shuffledp.amplification.seen import Seen
from shuffledp.errors import NotCertified, ParameterError, rejected
from shuffledp.laws.sources import Family, RatioFamily
from shuffledp.multimessage import MultiMessage
from shuffledp.neighbours import REPLACEMENT
from shuffledp.population.crowd import Crowd

VIEWS = ("messages", "sums")
# So many users who change at once: each adds a step, and e^(k eps) has to stay a float.
MOST_CHANGED, MOST_ROUNDS = 1_000, 10**6

Asked = Mapping[str, Any]
_NAMES = (
    *("a protocol", "generic", "groups", 'view="sums"', "shuffler"),
    *("changed", "rounds", 'trust="published"', "in a file", "its data"),
)


class No(NamedTuple):
    """Which argument is refused, what is wanted in its place and why, and from when on."""

    argument: str
    wanted: str
    error: type[Exception] = ParameterError
    when: Callable[[Asked], bool] | None = None


def _of_proofs_here(asked: Asked) -> bool:
    shuffler = asked["shuffler"]
    return bool(shuffler.distance or shuffler.dummies or shuffler.fills)


def _linked(asked: Asked) -> bool:
    """Orders or assignments of several rounds that belong together link a user's reports."""
    shuffler = asked["shuffler"]
    secret = shuffler.shards > 1 and shuffler.assignment == "secret"
    return shuffler.distance > 0.0 or secret


def _widened(asked: Asked) -> bool:
    return asked["shuffler"] != PERFECT or asked["changed"] > 1


def _is_protocol(asked: Asked) -> bool:
    return isinstance(asked["mechanism"], MultiMessage)


def _is_family(asked: Asked) -> bool:
    return isinstance(asked["mechanism"], Family | RatioFamily)


_PERFECT_ALONE = "one perfect shuffler, leave it out with"
_TOGETHER: dict[tuple[str, str], No] = {
    ("a protocol", "groups"): No("groups", "pairs of a randomizer and a number of users"),
    ("a protocol", 'view="sums"'): No("mechanism", "one message a user, to be added up"),
    ("a protocol", "shuffler"): No(
        "shuffler", f"{_PERFECT_ALONE} a multi-message protocol", NotCertified
    ),
    ("generic", 'view="sums"'): No(
        "view", "'messages' for a family of randomizers; sums need one mechanism"
    ),
    ("groups", 'view="sums"'): No("view", "'messages', which is all that is known of groups"),
    ("groups", "shuffler"): No("shuffler", f"{_PERFECT_ALONE} groups"),
    ('view="sums"', "shuffler"): No("shuffler", f"{_PERFECT_ALONE} view='sums'"),
    ('view="sums"', 'trust="published"'): No(
        "trust", "'all' with sums, whose bound is proved in docs/theory-sums.md alone", NotCertified
    ),
    ("shuffler", "rounds"): No(
        "rounds",
        "1, with an order that is not uniform or a secret assignment",
        NotCertified,
        _linked,
    ),
    ("shuffler", 'trust="published"'): No(
        "trust",
        "'all', what distance, dummies and fills rest on is proved here",
        NotCertified,
        _of_proofs_here,
    ),
    ("changed", 'trust="published"'): No(
        "trust", "'all', what changed rests on is proved here", NotCertified
    ),
    ("changed", "rounds"): No(
        "rounds",
        "1 where several users of a crowd change at once",
        NotCertified,
        lambda asked: asked["groups"] is not None,
    ),
    ("shuffler", "in a file"): No(
        "mechanism",
        "one mechanism, a report a user, in a file with a declared shuffler",
        when=_is_family,
    ),
    ("changed", "in a file"): No(
        "changed",
        "1 in a file with sums, a protocol or generic",
        when=lambda asked: asked["view"] == "sums" or _is_protocol(asked) or _is_family(asked),
    ),
    ("rounds", "in a file"): No(
        "rounds",
        "1 in a file with groups, a protocol, a declared shuffler or several users who change",
        when=lambda asked: asked["groups"] is not None or _is_protocol(asked) or _widened(asked),
    ),
    ('trust="published"', "in a file"): No(
        "trust", "'all' in a file with a declared shuffler or several users", when=_widened
    ),
    ("groups", "its data"): No("data", "no such table with groups"),
    ("shuffler", "its data"): No(
        "data", "no such table with shuffler: `run` shuffles by itself, not as it declares"
    ),
    ("changed", "its data"): No(
        "data", "no such table with changed: a run's certificate is for one user who changes"
    ),
}


def refuse(mechanism: Any, asked: dict[str, Any]) -> None:
    """An error where the arguments of ``shuffle`` cannot be had together.

    Parameters
    ----------
    mechanism : Randomizer or MultiMessage
        What each user runs.
    asked : dict
        All other arguments, each in its domain.
    """
    if not isinstance(asked["shuffler"], Shuffler):
        raise rejected("shuffler", asked["shuffler"], "a Shuffler, such as Shuffler(shards=4)")
    sums = asked["ones"] != 1 or asked["relation"] != "replace-one" or asked["added"] is not None
    if sums and asked["view"] != "sums":
        wanted = '"sums", for ones, relation and added to mean something'
        raise rejected("view", asked["view"], wanted)
    _refuse({**asked, "mechanism": mechanism})


def _refuse(asked: Asked) -> None:
    no = refused(asked)
    if no is not None:
        raise no.error(str(rejected(no.argument, asked[no.argument], no.wanted)))


def refused(asked: Asked, *, file: bool = False, data: bool = False) -> No | None:
    """The first of the table's refusals that is about what is asked; None where there is none.

    Parameters
    ----------
    asked : mapping
        Arguments of ``shuffle`` by name, each in its domain.
    file, data : bool
        Whether a certificate is wanted, as of a deployment file, and whether it runs on data.
    """
    there = (
        _is_protocol(asked),
        _is_family(asked),
        asked["groups"] is not None,
        asked["view"] == "sums",
        asked["shuffler"] != PERFECT,
        asked["changed"] > 1,
        asked["rounds"] > 1,
        asked["trust"] == "published",
        file,
        data,
    )
    found = {name for name, one in zip(_NAMES, there, strict=True) if one}
    for pair, no in _TOGETHER.items():
        if found.issuperset(pair) and (no.when is None or no.when(asked)):
            return no
    return None


def refuse_several(seen: Seen, shuffler: Shuffler, changed: int, users: int) -> None:
    """An error where more users change than there are, or absent ones are no neighbours."""
    size = shuffler.shard(users)
    if isinstance(seen, Crowd) and seen.victim is not None:
        size = seen.groups[seen.victim][1]
    if changed > size == 1:
        raise NotCertified(f"changed = {changed:,}: wanted 1 where one user can be meant")
    _check.count("changed", changed, high=min(size, MOST_CHANGED))
    if shuffler.fills and seen.relation != REPLACEMENT:
        raise NotCertified("shuffler.fills: not where values are only replaced by some others")
    if isinstance(seen, Messages) and (changed > 1 or shuffler != PERFECT):
        _check.count("rounds", seen.rounds, high=MOST_ROUNDS)


def refuse_rounds(seen: Seen, shuffler: Shuffler, changed: int, rounds: int) -> None:
    """An error where an account has no rounds: ``compose`` of it.

    Parameters
    ----------
    seen, shuffler, changed
        As in ``Account``.
    rounds : int
        In all.
    """
    groups = seen.groups if isinstance(seen, Crowd) else None
    asked = {"shuffler": shuffler, "changed": changed, "rounds": rounds, "groups": groups}
    _refuse({**asked, "mechanism": None, "view": "messages", "trust": "all"})


def table() -> str:
    """The table of docs/supported.md, in Markdown: what can be had together, or what is wanted."""
    names = _NAMES
    rows = [["", *(f"`{name}`" if "=" in name or " " not in name else name for name in names)]]
    rows.append(["---"] * len(rows[0]))
    why = []
    for name in names:
        row = [rows[0][1 + names.index(name)]]
        for other in names:
            no = _TOGETHER.get((name, other)) or _TOGETHER.get((other, name))
            if no is None:
                row.append("" if name == other else "yes")
                continue
            if no not in why:
                why.append(no)
            row.append(f"{'no' if no.when is None else 'partly'} ({why.index(no) + 1})")
        rows.append(row)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", *(f"{i}. `{no.argument}`: wanted {no.wanted}." for i, no in enumerate(why, 1))]
    return "\n".join(lines)


__all__ = [
    "MOST_CHANGED",
    "MOST_ROUNDS",
    "VIEWS",
    "refuse",
    "refuse_rounds",
    "refuse_several",
    "refused",
    "table",
]
