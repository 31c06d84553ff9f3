"""What a certificate has to say beside its numbers, from the deployment it writes down.

Scenarios, assumptions, theorems, privacy unit and neighbouring relation follow from the deployment
and from the verifier's own tables (``ball.statements``); what a certificate says is compared with
them. Fractions are those of the decimal numbers in the file.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from shuffledp._check import exact
from shuffledp.ball.assumptions import allowed_assumptions
from shuffledp.ball.messages import is_protocol
from shuffledp.ball.one_bit import EXACT_LOWER, written_fault
from shuffledp.ball.pairs import are_neighbours, has_one_pair, ordered_pairs
from shuffledp.ball.statements import (
    ALONE,
    GENERIC,
    lower_statement,
    named_statement,
    upper_statement,
)
from shuffledp.ball.triples import stealing_numbers, stealing_pairs, written_pairs
from shuffledp.certificate.model import (
    Certificate,
    Claim,
    ComposedClaim,
    ComposedWitness,
    FreeNumbers,
    SumsWitness,
    Witness,
    listed,
)
from shuffledp.certificate.sums import is_sums, sums_fault
from shuffledp.certificate.widened import (
    setting_of,
    widened_theorem,
    widened_unit,
    widened_words,
)
from shuffledp.theorems import Theorem

__all__ = [
    "AnyClaim",
    "Situation",
    "assumptions_of",
    "layout_fault",
    "nothing_claimed",
    "ordered",
    "privacy_unit",
    "situations_of",
    "statement_fault",
]

AnyClaim = Claim | ComposedClaim


class Situation(NamedTuple):
    """A scenario's name, its n, and where that comes from, in words."""

    name: str
    n: int
    how: str


def _written(value: float | None, default: float) -> Fraction:
    """The decimal number a float was written as."""
    return Fraction(repr(default if value is None else value))


def _arriving(population: Any) -> int:
    """Reports that arrive, rounded down."""
    users = population.users
    if population.dropout is not None:
        return users - math.ceil(_written(population.dropout, 0.0) * users)
    return math.floor(_written(population.participation, 1.0) * users)


def _hidden(content: Any, batch: int, words: str) -> tuple[int, str]:
    """Honest messages of a batch, colluders rounded up, and the words for it."""
    population, setting = content.population, setting_of(content)
    if setting is not None and content.shuffler is not None:
        found, how = setting.hidden(batch, _written(population.colluding, 0.0))
        return found, words + how
    honest = batch - math.ceil(_written(population.colluding, 0.0) * batch)
    gone = f" - {batch - honest:,} colluding" if honest < batch else ""
    return honest, f"{words}{gone} = {honest:,}"


def situations_of(content: Any) -> list[Situation]:
    """The scenarios of a deployment, in order."""
    p = content.population
    arriving = _arriving(p)
    words = f"{p.users:,} users"
    if arriving < p.users:
        words += f" - {p.users - arriving:,} dropped out"
        setting = setting_of(content)
        # These are divided.
        words = f"({words})" if setting is not None and setting.apart else words
    found = [Situation("now", *_hidden(content, arriving, words))]
    if p.minimum_batch is not None:
        words = f"{p.minimum_batch:,} {_unit(content)}"
        found.append(Situation("minimum batch", *_hidden(content, p.minimum_batch, words)))
    sent, name = "message", "shuffler fails"
    if content.view == "sums":
        sent, name = "report", "aggregator fails"
    alone = f"every {sent} is seen with its sender: nothing hides it"
    return [*found, Situation(name, 1, alone)]


def _unit(content: Any) -> str:
    if content.view == "sums":
        return "reports"
    return "users" if is_protocol(content.randomizer) else "messages"


def assumptions_of(content: Any) -> list[str]:
    """What the deployment asks a reader to believe, in words."""
    p, unit = content.population, _unit(content)
    sent, who = ("reports", "aggregator") if unit == "reports" else ("messages", "shuffler")
    arriving = _arriving(p)
    found = []
    if arriving < p.users:
        found.append(
            f"at least {arriving:,} of the {p.users:,} users' reports arrive (rounded down; "
            "who drops out does not depend on the values)"
        )
    setting = setting_of(content)
    if p.colluding:
        whose = "collude" if unit == "users" else "come from users who collude"
        where = "shard" if setting is not None and setting.apart else "batch"
        found.append(
            f"in every {where} at most {exact(p.colluding)} of the {unit}, rounded up, {whose} "
            f"with the analyst; their {sent} hide nobody"
        )
    if p.minimum_batch is not None:
        found.append(
            f"the {who} releases nothing from a batch of fewer than {p.minimum_batch:,} {unit}; "
            "a larger batch is at least as private as a smaller one"
        )
    if reasons := _reasons_to_leave_out(content.data):
        found.append(
            f"rows {' or '.join(reasons.values())} are left out: which rows these are, and how "
            "many, is not hidden; neighbouring datasets leave out the same"
        )
    if content.dap is not None:
        task = content.dap
        found.append(
            f"DAP task with {task.vdaf} of {_bits(task.bits)} and min_batch_size = "
            f"{task.min_batch_size:,}: every report is randomized before it is sharded and is in "
            "one batch alone, a batch is collected once, and one of the aggregators is honest"
        )
    if setting is not None:
        found += setting.assumptions(exact(setting.distance))
    return found


def _reasons_to_leave_out(data: Any) -> dict[str, str]:
    """Policies under which rows of the table are left out, in words."""
    if data is None:
        return {}
    words = {"nulls": "without a value", "outside": "with a value outside the domain"}
    tables = data.columns or [data]
    return {
        key: said
        for key, said in words.items()
        if any(getattr(one, key) == "drop" for one in tables)
    }


def release_fault(certificate: Certificate) -> str:
    """What is wrong with what a certificate says of its run; empty if nothing is.

    The users are those accounted for, all of them, and rows are left out only where the deployment
    says that they are.
    """
    release, content = certificate.release, certificate.deployment.content
    if release is None:
        return ""
    p = content.population
    if release.users != p.users or p.participation is not None or p.dropout is not None:
        return "wanted the users accounted for"
    allowed = _reasons_to_leave_out(content.data)
    for key in ("nulls", "outside"):
        if getattr(release, key) and key not in allowed:
            return f"wanted no row left out: data.{key} does not ask for it"
    return ""


def privacy_unit(content: Any) -> str:
    """Whose data, and how much of it, a claim is about."""
    rounds = content.accounting.rounds
    if is_protocol(content.randomizer):
        return "all messages of one user in one run of the protocol"
    setting = setting_of(content)
    if setting is not None:
        return widened_unit(setting)
    if rounds == 1:
        return "one user's one report"
    return f"one user's reports in all {rounds:,} rounds; claims of one round: one report"


# ------------------------------------------------------------------------------------ the claims


def layout_fault(certificate: Certificate, claims: Sequence[AnyClaim], *, last: str) -> str:
    """What is wrong with a list of claims, in words; empty if nothing is.

    Both ends under the deployment's trust; then, where the upper one rests on more than published
    theorems, the upper end that published theorems give.
    """
    content = certificate.deployment.content
    trust = content.accounting.trust
    wanted = [("upper", trust), ("lower", trust)]
    best = claims[0] if claims else None
    # Of these nothing else is published.
    alone = content.view == "sums" or setting_of(content) is not None
    if not alone and best is not None and best.value is not None and best.witness is not None:
        found = upper_statement(content.randomizer, best.witness.analysis, last=last)
        if found is not None and found.provenance != "published":
            wanted.append(("upper", "published"))
    given = [(claim.end, claim.trust) for claim in claims]
    if given == wanted:
        return ""
    listed = ", ".join(f"{end} ({trusted})" for end, trusted in wanted)
    return f"wanted the ends {listed}"


def ordered(claims: Sequence[Any]) -> bool:
    """Whether no lower end is above an upper one."""
    uppers = [c.value for c in claims if c.end == "upper" and c.value is not None]
    lowers = [c.value or 0.0 for c in claims if c.end == "lower"]
    return all(low <= high for low in lowers for high in uppers)


def statement_fault(certificate: Certificate, claim: AnyClaim, scenario: str) -> str:
    """What is wrong with what a claim of a scenario says beside its number; empty if nothing is.

    The theorem, its source and provenance, the assumptions, and which parts of a witness are given
    have to be what follows from the mechanism and the analysis.
    """
    if nothing_claimed(claim):
        rest = (claim.theorem, claim.witness, claim.log)
        empty = all(one is None for one in rest) and not claim.assumptions
        return "" if empty else "wanted no theorem, witness or assumption where nothing is claimed"
    if claim.value is None or claim.witness is None:
        what = "number" if claim.value is None else "witness"
        return f"no {what} is given for an end that is not trivial"
    if is_sums(certificate):
        return sums_fault(certificate, claim, scenario)
    if isinstance(claim.witness, SumsWitness):
        return "witness: wanted none of sums, where messages are seen"
    content = certificate.deployment.content
    wanted = widened_theorem(
        content,
        _statement(certificate, claim, claim.witness),
        claim.end,
        claim.witness.analysis,
        scenario,
    )
    if wanted is None:
        name = certificate.deployment.content.randomizer["name"]
        return f"a {claim.end} end of {name} cannot rest on {claim.witness.analysis}"
    if claim.trust == "published" and wanted.provenance != "published":
        return f"its theorem is not published: {wanted.source}"
    given = {} if claim.theorem is None else claim.theorem.model_dump()
    for key, value in wanted.to_dict().items():
        if given.get(key) != value:
            return f"theorem.{key}: wanted {value!r}"
    allowed = _assumptions(certificate, claim, claim.witness)
    if tuple(claim.assumptions) not in {widened_words(content, w) for w in allowed}:
        return "not the assumptions of its theorem"
    return _shape_fault(certificate, claim, claim.witness)


def nothing_claimed(claim: Any) -> bool:
    """Whether no number is claimed: an upper end of null, a lower end of 0."""
    if claim.end == "upper":
        return claim.value is None
    return claim.value == 0.0 and claim.log is None


def _statement(certificate: Certificate, claim: AnyClaim, witness: Witness) -> Theorem | None:
    parameters = certificate.deployment.content.randomizer
    composed = isinstance(witness, ComposedWitness)
    basic = isinstance(witness, ComposedWitness) and witness.basic
    if claim.end == "upper":
        last = "" if not composed else "basic" if basic else "composition"
        return upper_statement(parameters, witness.analysis, last=last)
    if witness.analysis == EXACT_LOWER:
        return None if composed else named_statement(parameters, witness.analysis)
    if witness.analysis != "dataset":
        return None
    return lower_statement(parameters, last="repetition" if composed and not basic else "")


def _assumptions(
    certificate: Certificate, claim: AnyClaim, witness: Witness
) -> tuple[tuple[str, ...], ...]:
    if claim.end == "lower":
        return ((),)
    rounds, basic = 1, False
    if isinstance(witness, ComposedWitness):
        rounds, basic = certificate.rounds, witness.basic
    parameters = certificate.deployment.content.randomizer
    return allowed_assumptions(parameters, witness.analysis, rounds=rounds, basic=basic)


def _shape_fault(certificate: Certificate, claim: AnyClaim, witness: Witness) -> str:
    """Whether the witness gives what its analysis needs, and nothing that is not looked at."""
    parameters = certificate.deployment.content.randomizer
    if witness.analysis == "dataset" and not is_protocol(parameters):
        fault = _dataset_fault(parameters, witness)
        if fault:
            return fault
    fault = _free_fault(parameters, witness) or _others_fault(parameters, witness)
    if fault:
        return fault
    wanted = _one_round_shape(parameters, witness)
    if isinstance(witness, ComposedWitness):
        wanted |= _composed_shape(claim, witness)
    for key, value in wanted.items():
        given = getattr(witness, key)
        if value is ... and given is None:
            return f"witness.{key}: no values of one round on a lattice are given"
        if value is not ... and json.dumps(given) != json.dumps(value):
            if key == "pairs":
                return "not the pairs of inputs its theorem asks for"
            return f"witness.{key} = {given!r}: wanted {value!r}"
    return ""


def _dataset_fault(parameters: Mapping[str, Any], witness: Witness) -> str:
    """Whether the datasets of a lower end are given, and are neighbours."""
    if None in (witness.x0, witness.x1, witness.x2):
        return "witness: wanted x0, x1 and x2"
    if (witness.member is None) == (parameters["name"] == GENERIC):
        return f"witness.member = {witness.member!r}: wanted one, of a family alone"
    if not are_neighbours(parameters, witness.x0, witness.x1):
        return "not the pairs of inputs its theorem asks for: no neighbours"
    return ""


def _others_fault(parameters: Mapping[str, Any], witness: Witness) -> str:
    """Whether the others of a data set that is named are given, and as they are written."""
    if (witness.others is None) == (witness.analysis == EXACT_LOWER):
        return "witness.others: wanted who holds what, of a data set that is named alone"
    if witness.others is None:
        return ""
    return written_fault(parameters, witness.x0, witness.x1, witness.others)


def _free_fault(parameters: Mapping[str, Any], witness: Witness) -> str:
    """Whether the free numbers are those that this mechanism's bound has, for every pair."""
    frees = witness.frees if isinstance(witness, ComposedWitness) else None
    values = isinstance(witness, ComposedWitness) and not witness.basic
    stolen = witness.analysis in {"label-stealing", ALONE}
    if (frees is None) == (stolen and values):
        return "witness.frees: wanted numbers for each value, for label stealing alone"
    if (witness.free is None) == (stolen and not values):
        return "witness.free: wanted numbers, for label stealing alone"
    pairs = stealing_pairs(parameters) or []
    if witness.free is not None and len(witness.free) != len(pairs):
        return f"witness.free: {len(witness.free)} sets of numbers, wanted {len(pairs)}"
    if frees is not None and len(frees) != len(_values(witness)):
        return f"witness.frees: {len(frees)} sets of numbers, wanted one for each value"
    if not stolen:
        return ""
    given = [one for one in frees or () if one is not None]
    # One way to write it: a list where there are several pairs.
    if any(isinstance(one, list) == (len(pairs) == 1) for one in given) or any(
        len(listed(one)) != len(pairs) for one in given
    ):
        return f"witness.frees: wanted numbers for each of {len(pairs)} pairs"
    return _names_fault(parameters, [*(witness.free or ()), *itertools.chain(*map(listed, given))])


def _names_fault(parameters: Mapping[str, Any], sets: Sequence[FreeNumbers]) -> str:
    """Whether each set of free numbers has the names that it has for this mechanism."""
    wanted, allowed = stealing_numbers(parameters)
    for numbers in sets:
        given = set(numbers.model_dump())
        if not set(wanted) <= given <= {*wanted, *allowed}:
            return f"witness.free: {', '.join(sorted(given))} given, wanted {', '.join(wanted)}"
    return ""


def _values(witness: Witness) -> list[float]:
    """Those of one round, which a claim about all rounds has."""
    return (witness.values or []) if isinstance(witness, ComposedWitness) else []


def _one_round_shape(parameters: Mapping[str, Any], witness: Witness) -> dict[str, Any]:
    """Keys that a witness does not choose freely, and what they have to be."""
    wanted: dict[str, Any] = dict.fromkeys(("x0", "x1", "x2", "pairs", "member"))
    if witness.analysis == EXACT_LOWER:
        return {"x2": None, "pairs": None, "member": None, "swap": False}
    if witness.analysis != "dataset":
        settled = {"blanket": _pairs, "label-stealing": written_pairs, ALONE: written_pairs}
        given = settled.get(witness.analysis)
        pairs = None if given is None else given(parameters)
        return wanted | {"swap": False, "pairs": pairs}
    if is_protocol(parameters):
        # Any two values of a victim; the verifier counts the messages itself.
        return wanted | {"x0": 0, "x1": 1}
    return {"pairs": None}


def _composed_shape(claim: AnyClaim, witness: ComposedWitness) -> dict[str, Any]:
    """Of the values of one round: ... where they have to be given."""
    none: dict[str, Any] = {"dots": None, "values": None, "ends": None}
    if witness.basic or (claim.end == "upper" and witness.analysis == "local"):
        return none
    return none | {"dots": ..., "values" if claim.end == "upper" else "ends": ...}


def _pairs(parameters: Mapping[str, Any]) -> Any:
    """The pairs of a blanket as they are written: those of parts and matrices are not listed."""
    if not has_one_pair(parameters):
        return "all"
    return [tuple(pair) for pair in ordered_pairs(parameters)]


def _bits(count: int) -> str:
    """So many, in words."""
    return "1 bit" if count == 1 else f"{count:,} bits"
