"""Numerics: numbers known between two ends, and floats whose own rounding is known."""

from shuffledp.arithmetic.intervals import (
    LogInterval,
    added,
    common,
    exp_or_infinite,
    log_add,
    log_difference,
    log_of,
)

__all__ = [
    "LogInterval",
    "added",
    "common",
    "exp_or_infinite",
    "log_add",
    "log_difference",
    "log_of",
]
