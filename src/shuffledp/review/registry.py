"""An entry for the public registry of deployments (registry.opendp.org), from a certificate.

Names of fields, and the values of those that have a list of them, are those of the registry's
schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026-07-15). What a
certificate does not know is left to fill in. The registry shows texts as Markdown: they are
escaped.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from shuffledp.errors import ParameterError
from shuffledp.review.claims import (
    WORDS,
    Ends,
    all_rounds,
    epsilon_delta,
    failure,
    released,
    sent,
    who,
    worst,
)
from shuffledp.review.grounds import assumptions, sentence, statements
from shuffledp.review.markdown import escaped

# As the registry's own check wants names of files.
_FILE = re.compile(r"[a-z0-9_]+\.yaml")
_TO_FILL = "Fill in."
# The least that has the form of a date, as in the registry's template.
_NO_DATE = "1900-01-01"
# Numbers with more zeros than that are written with an exponent.
_ZEROS = 6
_HEAD = """\
# An entry for registry.opendp.org, from a certificate of shuffledp.
# What the certificate does not know says "Fill in"; what it may not know is switched off by a "#".
"""


def check_file_name(name: str, argument: str) -> None:
    """Refuse a name that the registry would.

    Raises
    ------
    ParameterError
        If it is not made of small letters, digits and underscores, with the ending .yaml.
    """
    if not _FILE.fullmatch(name):
        words = "wanted a-z, 0-9 and _ with the ending .yaml, as the registry does"
        raise ParameterError(f"{argument} = {name!r}: {words}")


@dataclass(frozen=True)
class _Line:
    """A key with a value, or a table; ``off`` is a comment."""

    depth: int
    key: str
    value: str | Sequence[str] | Decimal | None = None
    comment: str = ""
    off: bool = False

    def text(self) -> str:
        pad = "  " * self.depth
        start = f"{pad}{'# ' if self.off else ''}{self.key}:"
        end = f"  # {self.comment}" if self.comment else ""
        value = self.value
        if value is None:
            return start + end
        if isinstance(value, Decimal):
            return f"{start} {_number(value)}{end}"
        if isinstance(value, str):
            if "\n" in value:
                block = "\n".join(f"{pad}  {one}" for one in value.split("\n"))
                return f"{start} |{end}\n{block}"
            return f"{start} {_quoted(value)}{end}"
        return "\n".join([start + end, *(f"{pad}  - {_quoted(one)}" for one in value)])


def registry_entry(
    certificate: Any, *, label: str, certificate_file: str, certificate_sha256: str
) -> str:
    """The entry, as YAML.

    Parameters
    ----------
    certificate : Certificate
        What is claimed.
    label : str
        The mechanism in a few words.
    certificate_file, certificate_sha256 : str
        Its file's name and hash.

    Raises
    ------
    ParameterError
        If the certificate has no finite upper end: there is nothing to register.
    """
    if certificate.crowd:
        raise ParameterError("certificate: of a crowd, wanted one of a single mechanism")
    members = certificate.members[0]
    ends = worst(released(members))
    epsilon, delta = epsilon_delta(members, ends)
    if epsilon is None or delta is None:
        raise ParameterError("certificate: no finite upper end, wanted a guarantee to register")
    title = certificate.deployment.content.title
    lines = [
        _Line(0, "url_slug", _slug(title)),
        _Line(0, "status", "Draft"),
        _Line(0, "tier", Decimal(2)),
        _Line(0, "deployment"),
        *_basic(title),
        *_guarantee(members, ends),
        *_model(members, label),
        _Line(1, "accounting"),
        _Line(2, "post_processing", "", "Of the released numbers, if any.", off=True),
        _Line(2, "composition", _composition(members)),
        _Line(1, "implementation"),
        _Line(2, "mechanisms", _mechanisms(members, label)),
        _Line(2, "justification", "", "Why these choices were made.", off=True),
        _Line(1, "administrative"),
        _Line(2, "sources", "", _TO_FILL),
        _Line(2, "notes", _notes(certificate, certificate_file, certificate_sha256)),
        _Line(2, "registry_authors", [""], _TO_FILL),
    ]
    return _HEAD + "\n".join(one.text() for one in lines) + "\n"


def _basic(title: str) -> list[_Line]:
    return [
        _Line(1, "basic"),
        _Line(2, "name", escaped(title)),
        _Line(2, "data_curators", [""], _TO_FILL),
        _Line(2, "intended_use", "", _TO_FILL),
        _Line(2, "data_product_type", "Summary statistics", _TO_FILL),
        _Line(2, "data_product_region", "", _TO_FILL),
        _Line(2, "description", "", _TO_FILL),
        _Line(2, "publication_date", _NO_DATE, _TO_FILL),
        _Line(2, "data_product_sector", "Technology", "If it is.", off=True),
    ]


def _guarantee(members: Any, ends: Ends) -> list[_Line]:
    relation = sentence(members.neighbours)
    return [
        _Line(1, "dp_variant"),
        _Line(2, "variant_name", "Approximate DP"),
        _Line(2, "data_domain", "", "Public: which values a user may have.", off=True),
        _Line(2, "unprotected_quantities", f"The number of {sent(members)}, n, is public."),
        _Line(1, "privacy_loss"),
        _Line(2, "privacy_unit", escaped(members.privacy_unit)),
        _Line(2, "privacy_unit_details", escaped(relation)),
        _Line(2, "privacy_parameters"),
        *_parameters(members, ends),
        _Line(2, "privacy_parameters_details", _bullets(_said(members))),
    ]


def _parameters(members: Any, ends: Ends) -> list[_Line]:
    """eps and delta as numbers, the bounded one rounded up; a delta below the floats as text."""
    bounded = ends.shown("upper")
    value = bounded if bounded.startswith("10^") else Decimal(bounded)
    fixed = Decimal(repr(members.at))
    pair = (value, fixed) if members.quantity == "epsilon" else (fixed, value)
    return [_Line(3, "epsilon", pair[0]), _Line(3, "delta", pair[1])]


def _said(members: Any) -> list[str]:
    """Both ends in every situation."""
    word = WORDS[members.quantity]
    fixed = WORDS["delta" if members.quantity == "epsilon" else "epsilon"]
    after = f", after all {members.rounds:,} rounds" if members.rounds > 1 else ""
    found = [
        f"{ends.scenario.name} ({ends.scenario.n:,} {sent(members)}): "
        f"{ends.shown('lower')} <= {word} <= {ends.shown('upper')} "
        f"at {fixed} = {members.at!r}{after}"
        for ends in all_rounds(members)
    ]
    return [*found, "eps is in nats; upper ends are certified, numerical errors included."]


def _model(members: Any, label: str) -> list[_Line]:
    rounds = members.rounds
    failed = failure(members)
    word = WORDS[members.quantity]
    details = (
        f"Each user's value is randomized on the device ({label}). "
        f"If the {who(members)} fails, {word} <= {failed.shown('upper')}."
    )
    many = (
        f"{rounds:,} releases; every user takes part in each, and loses what is said above in all."
    )
    return [
        _Line(1, "deployment_model"),
        _Line(2, "model_name", "Shuffle" if members.sums is None else "Secure aggregation"),
        _Line(2, "model_name_details", escaped(details)),
        _Line(2, "actors", _bullets([f"Assumed: {words}" for words in assumptions(members)])),
        _Line(2, "release_type", "Many releases" if rounds > 1 else "One release"),
        _Line(2, "release_type_details", many if rounds > 1 else "", off=rounds == 1),
        _Line(2, "data_source_type", "Static", "Or Dynamic.", off=True),
        _Line(2, "access_type", "Non-interactive", "Or Interactive.", off=True),
    ]


def _composition(members: Any) -> str:
    if members.rounds == 1:
        return "One release, nothing is composed."
    said = [title for (_, title, _, _), ends in statements(members).items() if _composes(ends)]
    return _bullets(said)


def _composes(ends: dict[str, list[str]]) -> bool:
    return "upper end after all rounds" in ends


def _mechanisms(members: Any, label: str) -> str:
    found = [label]
    for (key, title, source, provenance), ends in statements(members).items():
        if any(end.startswith("upper") for end in ends):
            found.append(f"{key}: {title}. {source} [{provenance}]")
    found.append(f"Accounted for by shuffledp {members.certificate.shuffledp_version}")
    return _bullets(found)


def _notes(certificate: Any, file: str, sha256: str) -> str:
    source = certificate.deployment
    return _bullets(
        [
            f"Certificate: {file}, sha256 {sha256}; `shuffledp verify` checks it.",
            f"Deployment file: {source.file}, sha256 {source.sha256}",
        ]
    )


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(words)}" for words in lines)


def _slug(title: str) -> str:
    """Small letters and digits with hyphens between words."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)) or "deployment"


def _quoted(words: str) -> str:
    """A double-quoted scalar: JSON's are YAML's, where no character needs two escapes."""
    return json.dumps(words, ensure_ascii=False)


def _number(value: Decimal) -> str:
    """A number that YAML 1.1 takes for one: a dot before an exponent, and a sign in it."""
    text = f"{value:e}" if abs(value.adjusted()) > _ZEROS else f"{value:f}"
    mantissa, e, exponent = text.partition("e")
    return text if not e or "." in mantissa else f"{mantissa}.0e{exponent}"
