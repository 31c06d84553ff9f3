"""The errors of this package; each message names the argument, its value and what was wanted."""

from __future__ import annotations

from collections.abc import Sequence


class ShuffleDPError(Exception):
    """Base class of every error raised on purpose by this package."""


class ParameterError(ShuffleDPError, ValueError):
    """An argument is outside its domain."""


class NotCertified(ShuffleDPError, ArithmeticError):  # noqa: N818 (the public name says what happened)
    """No certified number can be given for this request; the message says why."""


def rejected(name: str, value: object, wanted: str) -> ParameterError:
    """Build the one-line message every rejected argument gets.

    Parameters
    ----------
    name : str
        The argument as the user wrote it.
    value : object
        What was given; long values are shortened.
    wanted : str
        What would have been accepted.
    """
    shown = _shown(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[: _LONGEST_SHOWN - 3] + "..."
    return ParameterError(f"{name} = {shown}: wanted {wanted}")


def _shown(value: object) -> str:
    """The value as Python writes it; of integers too long for that (``int_max_str_digits``) hex."""
    try:
        return repr(value)
    except ValueError:
        if isinstance(value, int):
            return hex(value)
        return f"a {type(value).__name__} with an integer too long to be written"


def not_installed(purpose: str, modules: Sequence[str], extra: str) -> str:
    """One line for modules that are not there: all of them, and the extra that brings them.

    Parameters
    ----------
    purpose : str
        What needs them.
    modules : sequence of str
        As they are imported.
    extra : str
        In pyproject.toml; from a copy of the repository, which needs no package index to have us.
    """
    named = " and ".join(_PACKAGE_OF.get(module, module) for module in modules)
    there = "is" if len(modules) == 1 else "are"
    return (
        f"{purpose} needs {named}, which {there} not installed: "
        f"wanted pip install '.[{extra}]' in a copy of the shuffledp repository"
    )


def unreadable(error: Exception) -> str:
    """Say in a few words why a file could not be read or written."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, UnicodeDecodeError):
        return "not text in UTF-8"
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:]


_LONGEST_SHOWN = 80
_PACKAGE_OF = {"dp_accounting": "dp-accounting"}
