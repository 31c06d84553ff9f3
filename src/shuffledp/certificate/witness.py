"""What a witness has to give, by the setting and the analysis that it names, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shuffledp.ball.groups import Kind
from shuffledp.ball.record import Definition
from shuffledp.certificate.grounds import (
    CROWD_COMMON,
    CROWD_DATASET,
    CROWD_STEALING,
    LOCAL,
    NORMAL,
    SUMS_LOCAL,
)
from shuffledp.certificate.model import Claim, FreeNumbers, Witness
from shuffledp.deployment.model import GENERIC
from shuffledp.deployment.setting import Setting
from shuffledp.population.member import Member

__all__ = ["DATASET", "EXACT", "EXACT_LOWER", "JUMP", "STEALING", "needs", "place", "witness_fault"]

# Of one-bit reports: the largest of all data sets, and the one that a witness names.
EXACT, EXACT_LOWER = "binary-exact", "binary-exact-lower"
DATASET = "dataset"
STEALING, JUMP = "label-stealing", "lone-jump"
_CROWD = {
    CROWD_STEALING: {"free"},
    CROWD_COMMON: set[str](),
    CROWD_DATASET: {"x0", "x1", "others"},
}
# Free numbers of one pair of inputs: of one mechanism, and of a crowd.
_NAMES = ("alpha", "smoothing", "step", "share", "join")
_CROWD_NAMES = ("alpha", "smoothing", "gain", "loss", "theta", "shares")


def needs(setting: Setting, end: str, analysis: str) -> set[str]:
    """The keys of a witness beside its analysis.

    Parameters
    ----------
    setting : Setting
        What the claim is about.
    end : {"upper", "lower"}
        Which end.
    analysis : str
        What the witness names.
    """
    if setting.sums is not None:
        return _of_sums(setting.sums.changed > 1, end, analysis)
    if analysis in _CROWD:
        return _CROWD[analysis]
    values, found = setting.rounds > 1, set[str]()
    if analysis == DATASET:
        found |= {"x0", "x1", "swap"} | (set() if setting.protocol else {"x2"})
        found |= {"member"} if setting.mechanism["name"] == GENERIC else set()
    elif analysis == EXACT_LOWER:
        found |= {"x0", "x1", "others"}
    elif analysis in {STEALING, JUMP}:
        found |= {"frees" if values else "free"}
    if values and end == "lower":
        found |= {"dots", "ends"}
    elif values and analysis != LOCAL:
        found |= {"dots", "values"}
    return found


def _of_sums(several: bool, end: str, analysis: str) -> set[str]:  # noqa: FBT001 (says itself)
    """Where one coordinate changes once its delta is the end itself."""
    if analysis in {NORMAL, SUMS_LOCAL}:
        return set()
    if end == "upper":
        return {"dots", "values"} if several else set()
    return {"others", "swap"} | ({"dots", "ends"} if several else set())


def witness_fault(setting: Setting, claim: Claim, witness: Witness) -> str:
    """What is wrong with how a witness is written; empty if nothing is."""
    wanted = needs(setting, claim.end, witness.analysis)
    given = {key for key in Witness.model_fields if getattr(witness, key) is not None}
    for key in sorted((given - {"analysis"}) ^ wanted):
        return f"witness.{key}: wanted {'some' if key in wanted else 'none'}"
    crowd = setting.crowd
    if crowd is not None and crowd.kind is not None and witness.analysis in _CROWD:
        return _crowd_fault(crowd, crowd.kind, witness)
    if setting.sums is not None:
        return ""
    return _data_set_fault(setting, witness) or _free_fault(setting.source, witness)


def _data_set_fault(setting: Setting, witness: Witness) -> str:
    """Whether the data sets of a lower end are neighbours."""
    x0, x1, others = witness.x0, witness.x1, witness.others
    if witness.analysis == EXACT_LOWER:
        bits = setting.source.one_bit()
        known = (
            [] if bits is None else [json.dumps(one) for one in (bits.inputs, bits.inputs[::-1])]
        )
        held = [x for x, _ in others] if isinstance(others, list) else []
        if json.dumps((x0, x1)) in known and json.dumps(held) == json.dumps((x0, x1)):
            return ""
        wanted = " or ".join(known)
        return f"witness: wanted {wanted} as x0 and x1, and of the others in that order"
    if witness.analysis != DATASET:
        return ""
    if setting.protocol:
        # Any two values of a victim; the verifier counts the messages itself.
        named = json.dumps([x0, x1]) == "[0, 1]"
        return "" if named else "witness: wanted 0 and 1 as x0 and x1, which stand for any two"
    same = json.dumps(x0) == json.dumps(x1)
    if same or not are_neighbours(setting.source, x0, x1):
        return "not the pairs of inputs its theorem asks for: no neighbours"
    return ""


def are_neighbours(mechanism: Definition, x0: Any, x1: Any) -> bool:
    """Whether one user may hold the one value or the other, in neighbouring datasets."""
    try:
        return mechanism.relation.covers(x0, x1)
    except (TypeError, ValueError):
        return False


def _free_fault(mechanism: Definition, witness: Witness) -> str:
    """Whether the free numbers are those that this mechanism's bound has, for every pair."""
    if witness.frees is not None and len(witness.frees) != len(witness.values or []):
        return f"witness.frees: {len(witness.frees)} sets of numbers, wanted one for each value"
    sets = [one for one in (witness.free, *(witness.frees or ())) if one is not None]
    if not sets:
        return ""
    found = mechanism.others()
    pairs = 0 if found is None else len(found.pairs)
    may = ("ceiling",) if found is not None and found.unbounded else ()
    return next(filter(None, (_names_fault(one, pairs, _NAMES, may) for one in sets)), "")


def _names_fault(
    free: Sequence[FreeNumbers], pairs: int, must: Sequence[str], may: Sequence[str]
) -> str:
    if len(free) != pairs:
        return f"witness.free: {len(free)} sets of numbers, wanted {pairs}"
    for numbers in free:
        given = set(numbers.model_dump())
        if not set(must) <= given <= {*must, *may}:
            return f"witness.free: {', '.join(sorted(given))} given, wanted {', '.join(must)}"
    return ""


def _crowd_fault(crowd: Member, kind: Kind, witness: Witness) -> str:
    k = crowd.victim
    sizes = [users - (i == k) for i, (_, users) in enumerate(crowd.groups)]
    if witness.free is not None:
        fault = _names_fault(witness.free, len(kind.pairs[k]), _CROWD_NAMES, ())
        # Shares are of the groups in which there is somebody else.
        others = sum(size > 0 for size in sizes)
        if not fault and any(len(one.shares or ()) != others for one in witness.free):
            fault = f"witness.free: wanted {others} shares in each set"
        return fault
    if witness.analysis != CROWD_DATASET:
        return ""
    if None in (place(kind, k, witness.x0), place(kind, k, witness.x1)):
        return f"witness: wanted two of the inputs {kind.inputs[k]!r} as x0 and x1"
    if json.dumps(witness.x0) == json.dumps(witness.x1):
        return "witness: x0 and x1 are the same"
    held = witness.others if isinstance(witness.others, list) else []
    if [count for _, count in held] != sizes:
        return f"witness.others: wanted {sizes} of them"
    if any(place(kind, i, x) is None for i, (x, _) in enumerate(held)):
        return "witness.others: wanted an input of each group's mechanism"
    return ""


def place(kind: Kind, group: int, x: Any) -> int | None:
    """Which of a group's inputs it is, written as that is written."""
    known = [json.dumps(value) for value in kind.inputs[group]]
    written = json.dumps(x)
    return known.index(written) if written in known else None
