"""An entry for the public registry of deployments (registry.opendp.org), from a certificate.

Names of fields, and the values of those that have a list of them, are those of the registry's
schema (opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026-07-15);
``registry.yaml`` is the entry with what a certificate does not know left to fill in. The registry
shows texts as Markdown: they are escaped.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from importlib.resources import files
from string import Template
from typing import Any

from shuffledp.bound import WORDS
from shuffledp.errors import ParameterError
from shuffledp.review.grounds import assumptions, sentence, statements
from shuffledp.review.markdown import escaped

# As the registry's own check wants names of files.
_FILE = re.compile(r"[a-z0-9_]+\.yaml")
# Numbers with more zeros than that are written with an exponent.
_ZEROS = 6


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
    members, source = certificate.members[0], certificate.deployment
    ends, rounds = members.worst, members.rounds
    if None in ends.epsilon_delta:
        raise ParameterError("certificate: no finite upper end, wanted a guarantee to register")
    word = WORDS[members.quantity]
    # The bounded one is rounded up; a delta below the floats stays a text.
    bounded, fixed = ends.shown("upper"), _number(Decimal(repr(members.at)))
    value = _quoted(bounded) if bounded.startswith("10^") else _number(Decimal(bounded))
    details = (
        f"Each user's value is randomized on the device ({label}). "
        f"If the {members.who} fails, {word} <= {members.failure.shown('upper')}."
    )
    many = (
        f"{rounds:,} releases; every user takes part in each, and loses what is said above in all."
    )
    file = f"{certificate_file}, sha256 {certificate_sha256}"
    notes = (
        f"Certificate: {file}; `shuffledp verify` checks it.",
        f"Deployment file: {source.file}, sha256 {source.sha256}",
    )
    page = Template(files("shuffledp.review").joinpath("registry.yaml").read_text("utf-8"))
    return page.substitute(
        slug=_quoted(_slug(source.content.title)),
        name=_quoted(escaped(source.content.title)),
        public=_quoted(f"The number of {members.sent}, n, is public."),
        unit=_quoted(escaped(members.privacy_unit)),
        relation=_quoted(escaped(sentence(members.neighbours))),
        epsilon=value if members.quantity == "epsilon" else fixed,
        delta=fixed if members.quantity == "epsilon" else value,
        ends=_bullets(_ends(members)),
        model=_quoted("Shuffle" if members.sums is None else "Secure aggregation"),
        details=_quoted(escaped(details)),
        actors=_bullets(f"Assumed: {words}" for words in assumptions(members)),
        releases=_quoted("Many releases" if rounds > 1 else "One release"),
        releases_details=_quoted(many if rounds > 1 else ""),
        composition=_bullets(_composition(members)),
        mechanisms=_bullets(_mechanisms(members, label)),
        notes=_bullets(notes),
    )


def _ends(members: Any) -> list[str]:
    """Both ends in every situation."""
    word = WORDS[members.quantity]
    fixed = WORDS["delta" if members.quantity == "epsilon" else "epsilon"]
    after = f", after all {members.rounds:,} rounds" if members.rounds > 1 else ""
    found = [
        f"{ends.name} ({ends.setting.n:,} {members.sent}): "
        f"{ends.shown('lower')} <= {word} <= {ends.shown('upper')} "
        f"at {fixed} = {members.at!r}{after}"
        for ends in members.all_rounds
    ]
    return [*found, "eps is in nats; upper ends are certified, numerical errors included."]


def _composition(members: Any) -> list[str]:
    if members.rounds == 1:
        return ["One release, nothing is composed."]
    cited = statements([members]).items()
    return [title for (_, title, _, _), ends in cited if "upper end after all rounds" in ends]


def _mechanisms(members: Any, label: str) -> list[str]:
    cited = [
        f"{key}: {title}. {source} [{provenance}]"
        for (key, title, source, provenance), ends in statements([members]).items()
        if any(end.startswith("upper") for end in ends)
    ]
    version = members.certificate.shuffledp_version
    return [label, *cited, f"Accounted for by shuffledp {version}"]


def _bullets(lines: Iterable[str]) -> str:
    """A list in a block of text, at the depth that all blocks of the page have."""
    return "\n      ".join(f"- {escaped(words)}" for words in lines)


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
