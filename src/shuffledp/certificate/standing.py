"""What stands where a certificate is to be written: one of something else is not replaced.

A certificate's name is made of another file's: ``d.certificate.json`` is that of the deployment
``d.toml`` and of the table ``d.csv`` alike. It says itself which of them it is of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shuffledp.certificate.files import loaded
from shuffledp.certificate.model import FORMATS
from shuffledp.errors import ParameterError


def refuse_other(
    path: str | Path,
    given: str,
    wanted: str,
    *,
    table: str | None = None,
    deployment: str | None = None,
) -> None:
    """Refuse to write a certificate over a file that is not an earlier one of the same thing.

    Parameters
    ----------
    path : path
        Where the certificate is to be written.
    given : str
        What named it, and its value, to begin the message with.
    wanted : str
        What to give instead, to end it with.
    table : str, optional
        File name of the table of estimates, of a run's certificate.
    deployment : str, optional
        File name of the deployment, of one that belongs to no table.

    Raises
    ------
    ParameterError
        If another file is there: the message says what it is.
    """
    place = Path(path)
    if not place.is_file():
        return
    words = _not_of(_content(place), table, deployment)
    if words:
        said = f"would replace {str(path)!r}, which is {words}; wanted {wanted}"
        raise ParameterError(f"{given}: {said}")


def _content(place: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none."""
    try:
        found = loaded(place)
    except ParameterError:
        return {}
    return found if isinstance(found, dict) else {}


def _not_of(found: dict[str, Any], table: str | None, deployment: str | None) -> str:
    """What else this is, in words; empty of a certificate of this table, or of this deployment."""
    if not str(found.get("format")).startswith(FORMATS):
        return "not a certificate"
    release, source = found.get("release"), found.get("deployment")
    if isinstance(release, dict):
        of, own, what = release.get("table"), table, "the table of estimates"
    else:
        of = source.get("file") if isinstance(source, dict) else None
        own, what = deployment, "the deployment"
    return "" if own is not None and of == own else f"the certificate of {what} {of!r}"
