"""What there is to warn of a number, in words, whoever says it: a certificate or one command."""

from __future__ import annotations

from shuffledp.bound import outward


def large_delta_words(delta: float, n: int) -> str:
    """What is wrong with a delta above 1 over the number of messages; nothing of a smaller one."""
    if delta * n <= 1.0:
        return ""
    said = outward(delta, up=True, digits=4)
    return (
        f"delta = {said} is above 1/n = 1/{n:,}: publishing one user's value, chosen at random, "
        "would pass as well"
    )
