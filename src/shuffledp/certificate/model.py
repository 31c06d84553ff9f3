"""The certificate file: its format, reading it strictly, writing it exactly."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shuffledp.deployment.messages import one_line
from shuffledp.deployment.model import Deployment
from shuffledp.errors import ParameterError, unreadable

FORMAT = "shuffledp-certificate/1"
_LARGEST_FILE = 1 << 28

Count = Annotated[int, Field(ge=1, le=10**15)]
NonNegative = Annotated[float, Field(ge=0.0)]
# A value, a record of values, or a record whose attributes are records.
Input = int | float | tuple[int | float | tuple[int | float, ...], ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Statement(_Strict):
    """A theorem, with its source and whether all of it is published."""

    key: str
    title: str
    source: str
    provenance: Literal["published", "proved here"]


class Witness(_Strict):
    """What reproduces an end: the analysis and, for a dataset, who holds what.

    ``pairs`` are the ordered pairs of inputs that were looked at for an upper end; the theorem
    says why they are enough. For a matrix they are all pairs, and are not listed.
    """

    analysis: Literal["blanket", "clone", "stronger-clone", "local", "dataset"]
    x0: Input | None = None
    x1: Input | None = None
    x2: Input | None = None
    swap: bool = False
    pairs: list[tuple[Input, Input]] | Literal["all"] | None = None


class Claim(_Strict):
    """One end. ``value`` null: nothing finite is claimed. ``log``: of a delta, natural."""

    end: Literal["upper", "lower"]
    trust: Literal["all", "published"]
    value: NonNegative | None
    log: float | None
    theorem: Statement | None
    witness: Witness | None
    numerical_width: NonNegative | None
    assumptions: list[str]


class Scenario(_Strict):
    """One situation: n honest messages, where n comes from, and what is claimed there."""

    name: Literal["now", "minimum batch", "shuffler fails"]
    n: Count
    how: str
    claims: list[Claim]


class Source(_Strict):
    """The deployment file: its name, its hash, what it said (defaults filled in)."""

    file: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    content: Deployment


class Certificate(_Strict):
    """Everything that is claimed of one deployment."""

    format: Literal["shuffledp-certificate/1"]
    shuffledp_version: str
    deployment: Source
    quantity: Literal["epsilon", "delta"]
    at: NonNegative
    neighbouring_relation: str
    privacy_unit: str
    rounds: Literal[1]
    local_guarantee: NonNegative | None
    assumptions: list[str]
    scenarios: list[Scenario]
    checksum: str


def to_dict(certificate: Certificate) -> dict[str, Any]:
    """JSON-able form; floats are written as repr does, so they come back bit for bit."""
    return certificate.model_dump(mode="json")


def to_json(certificate: Certificate) -> str:
    """The text of the certificate file."""
    return json.dumps(to_dict(certificate), indent=2, allow_nan=False) + "\n"


def checksum(content: dict[str, Any]) -> str:
    """sha256 of a certificate's content, its checksum left out, in canonical JSON."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read(path: str | Path) -> Certificate:
    """Read a certificate; anything that is not one is refused.

    Raises
    ------
    ParameterError
        If there is no such file, it is not JSON, or it is not a certificate of this format.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ParameterError(f"{path}: wanted a certificate of at most {_LARGEST_FILE:,} bytes")
        found = json.loads(
            path.read_text(encoding="utf-8"),
            parse_constant=_no_constant,
            object_pairs_hook=_unique_keys,
        )
    except (json.JSONDecodeError, _NotJSONError, RecursionError) as error:
        raise ParameterError(f"{path}: not valid JSON: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = f"{unreadable(error)}; wanted a certificate, a JSON file"
        raise ParameterError(f"certificate {str(path)!r}: {why}") from None
    if isinstance(found, dict) and found.get("format") != FORMAT:
        raise ParameterError(f"{path}: format = {found.get('format')!r}: wanted {FORMAT!r}")
    try:
        # Through JSON mode, where a list may stand for a tuple and the rest stays strict.
        return Certificate.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise ParameterError(f"{path}: {one_line(error, Certificate)}") from None


class _NotJSONError(ValueError):
    """NaN, Infinity or a key given twice: Python's parser would let them pass."""


def _no_constant(word: str) -> Any:
    raise _NotJSONError(f"{word}, wanted a finite number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _NotJSONError(f"key {twice!r} is given twice")
    return found
