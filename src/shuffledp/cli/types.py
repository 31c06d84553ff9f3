"""Numbers and files as they are typed; what they may be is checked where they are used."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import click

from shuffledp.cli.writing import note_read
from shuffledp.errors import ParameterError, rejected, unreadable


class Number(click.ParamType):
    """A real number in decimal notation."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Text to float; domains are the library's business."""
        del ctx
        if not isinstance(value, str):
            return value
        try:
            return float(_ungrouped(value))
        except ValueError:
            raise rejected(_called(param), value, "a number") from None


class Whole(click.ParamType):
    """A whole number; 1e6 is one, and 2.5 is left for the library to refuse by name."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Text to int where it is one, else to float."""
        if not isinstance(value, str):
            return value
        del ctx
        with contextlib.suppress(ValueError):
            return int(_ungrouped(value))
        try:
            return float(value)
        except ValueError:
            raise rejected(_called(param), value, "a whole number") from None


# Thousands in groups of three digits, as reports and tables print them.
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def _ungrouped(text: str) -> str:
    """The number without the commas between its thousands."""
    return text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text


class Numbers(click.ParamType):
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Text to list of floats."""
        if not isinstance(value, str):
            return value
        return [Number().convert(part, param, ctx) for part in value.split(",")]


class Tables(click.ParamType):
    """A mechanism or a list of them: JSON as it is, or the name of a file with it."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Text to tables."""
        del ctx
        if not isinstance(value, str):
            return value
        wanted = 'JSON such as [{"name": "k-rr", "k": 4, "eps0": 1.0}]'
        inline = value.lstrip().startswith(("[", "{"))
        text = value if inline else read_text(_called(param), value, wanted=wanted)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise rejected(_called(param), value, f"{wanted} ({reason})") from None


class MatrixFile(click.ParamType):
    """A file with a matrix: CSV without a header, or JSON as a list of rows."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """File name to list of rows of floats."""
        del ctx
        if not isinstance(value, str):
            return value
        name = _called(param)
        text = read_text(name, value, wanted=_MATRIX)
        return matrix_of(name, value, text, as_json=value.lower().endswith(".json"))


_MATRIX = "a CSV file of numbers, or a JSON file with a list of rows"


def matrix_of(name: str, value: str, text: str, *, as_json: bool) -> Any:
    """Rows of floats from the text of a file, CSV or JSON.

    Parameters
    ----------
    name, value : str
        The argument and what was given for it, for the message.
    text : str
        What the file says.
    as_json : bool
        A list of rows; else lines of numbers with commas.
    """
    try:
        if as_json:
            return json.loads(text)
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
        return [[float(cell) for cell in row] for row in rows]
    except (ValueError, csv.Error, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise rejected(name, value, f"{_MATRIX} ({reason})") from None


def read_text(name: str, path: str, *, wanted: str) -> str:
    """Read a UTF-8 file; whatever is wrong with it is a ParameterError that names it."""
    note_read(path)
    try:
        # Some editors and spreadsheets put a byte-order mark first.
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ParameterError(f"{name} = {path!r}: {unreadable(error)}; wanted {wanted}") from None


def _called(param: click.Parameter | None) -> str:
    """The longest name that an option can be typed with; an argument's own name."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len).lstrip("-").replace("-", "_")
    return (param.name if param is not None else None) or "value"
