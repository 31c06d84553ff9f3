"""Certificate files, read strictly: what would be written otherwise is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from shuffledp.certificate.model import FORMAT, FORMATS, Certificate, to_dict
from shuffledp.deployment.messages import one_line
from shuffledp.errors import ParameterError, unreadable

_LARGEST_FILE = 1 << 28  # bytes: a thousand times as many as an account writes
_LONGEST_SHOWN = 80  # of a value in a message, as in errors.py


def read(path: str | Path) -> Certificate:
    """Read a certificate; anything that is not one is refused.

    Raises
    ------
    ParameterError
        If there is no such file, it is not JSON, or it is not a certificate of this format.
    """
    found = loaded(path)
    if isinstance(found, dict) and found.get("format") != FORMAT:
        again = ""
        if str(found.get("format")).startswith(FORMATS):
            again = "; issue it again with `shuffledp account DEPLOYMENT.toml`"
        raise ParameterError(f"{path}: format = {found.get('format')!r}: wanted {FORMAT!r}{again}")
    try:
        # Through JSON mode, where a list may stand for a tuple and the rest stays strict.
        certificate = Certificate.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise ParameterError(f"{path}: {one_line(error, Certificate)}") from None
    odd = first_difference(found, to_dict(certificate))
    if odd:
        raise ParameterError(f"{path}: {odd}")
    return certificate


def loaded(path: str | Path) -> Any:
    """A JSON file's content: no NaN, no key given twice.

    Raises
    ------
    ParameterError
        If there is no such file, or it is not JSON.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ParameterError(f"{path}: wanted a certificate of at most {_LARGEST_FILE:,} bytes")
        return json.loads(
            path.read_text(encoding="utf-8-sig"),
            parse_constant=_no_constant,
            object_pairs_hook=_unique_keys,
        )
    except (OSError, UnicodeDecodeError) as error:
        why = f"{unreadable(error)}; wanted a certificate, a JSON file"
        raise ParameterError(f"certificate {str(path)!r}: {why}") from None
    except (ValueError, RecursionError) as error:
        # Also integers of more digits than Python reads.
        raise ParameterError(f"{path}: not valid JSON: {error}") from None


def first_difference(given: Any, wanted: Any, path: str = "") -> str:
    """Where two JSON values differ first, in words; empty if they are the same, types included.

    Parameters
    ----------
    given, wanted
        As ``json.loads`` makes them.
    path : str
        Where they are, for the words.
    """
    if isinstance(given, dict) and isinstance(wanted, dict):
        for key in [*given, *(key for key in wanted if key not in given)]:
            where = f"{path}.{key}" if path else key
            if key not in given:
                return f"{where} is missing: wanted {_short(wanted[key])}"
            if key not in wanted:
                return f"{where} = {_short(given[key])}: wanted no such key"
            odd = first_difference(given[key], wanted[key], where)
            if odd:
                return odd
        return ""
    if isinstance(given, list) and isinstance(wanted, list) and len(given) == len(wanted):
        pairs = enumerate(zip(given, wanted, strict=True))
        return next(filter(None, (first_difference(*p, f"{path}[{i}]") for i, p in pairs)), "")
    same = json.dumps(given) == json.dumps(wanted)
    return "" if same else f"{path} = {_short(given)}: wanted {_short(wanted)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


class _NotJSONError(ValueError):
    """NaN, Infinity or a key given twice: Python's parser would let them pass."""


def _no_constant(word: str) -> Any:
    raise _NotJSONError(f"{word}, wanted a finite number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _NotJSONError(f"key {_short(key)} is given twice")
        found[key] = value
    return found
