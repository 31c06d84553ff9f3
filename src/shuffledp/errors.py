"""The errors of this package; each message names the argument, its value and what was wanted."""

from __future__ import annotations


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
    shown = repr(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[: _LONGEST_SHOWN - 3] + "..."
    return ParameterError(f"{name} = {shown}: wanted {wanted}")


def unreadable(error: Exception) -> str:
    """Say in a few words why a file could not be read or written."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, UnicodeDecodeError):
        return "not text in UTF-8"
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:]


_LONGEST_SHOWN = 80
