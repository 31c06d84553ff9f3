"""Exact laws of what a uniform permutation does, and the tests of a shuffler's counts.

Every p-value is one given the traces (what leaves beside the messages): under the claim the order
is uniform whatever they are (docs/theory-audit.md, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

from shuffledp.audit import limits
from shuffledp.audit.judge import Finding
from shuffledp.audit.shuffler_counts import ShufflerPlan, ShufflerTally, bin_sizes
from shuffledp.audit.words import one_line

Floats = npt.NDArray[np.floating]

MIXING, MESSAGES, TRACES = "mixing", "messages", "traces"
# Far below the least p-value that any level here asks for, 1e-12.
_END = 1e-30
# P(k matches) <= 1/k!: what lies beyond this many is below 1e-80.
_MATCHES = 60


def matches_law(n: int) -> Floats:
    """P(k of n keep their place) = (1/k!) sum_(i <= n - k) (-1)^i/i!, k up to 60."""
    d = _derangements(n)
    return np.array([d[n - k] / math.factorial(k) for k in range(min(n, _MATCHES) + 1)])


def successions_law(n: int) -> Floats:
    """P(k of the n - 1 neighbours leave as neighbours) = ((n-k) d(n-k) + d(n-k-1))/(k! n).

    d(m) is the share of permutations of m that keep nothing in its place; the permutations of m
    without a succession number D(m) + D(m-1) (Whitworth; Tanny 1976).
    """
    d = _derangements(n)
    return np.array(
        [
            ((n - k) * d[n - k] + d[n - k - 1]) / (math.factorial(k) * n)
            for k in range(min(n - 1, _MATCHES) + 1)
        ]
    )


def _derangements(n: int) -> list[float]:
    """D(m)/m! for m = 0 .. n; the series has no more digits after 30 terms."""
    terms = np.cumsum([(-1.0) ** i / math.factorial(i) for i in range(40)])
    return [float(terms[min(m, 39)]) for m in range(n + 1)]


def of_sum(law: Floats, times: int, count: int) -> float:
    """P(a sum of so many independent draws >= count), rounded up.

    By repeated squaring; of every sum the ends that hold less than 1e-30 are left out, so that
    100,000 draws take seconds. Each end that is left out of a power is left out of all draws that
    are made of it: less than 2e-30 for each squaring and draw.
    """
    if times == 0:
        return 1.0
    total, power = (0, np.array([1.0])), _middle(0, law)
    rest = times
    while rest:
        if rest & 1:
            total = _middle(total[0] + power[0], np.convolve(total[1], power[1]))
        rest >>= 1
        if rest:
            power = _middle(2 * power[0], np.convolve(power[1], power[1]))
    start, found = total
    tail = float(found[max(count - start, 0) :].sum()) if count > 0 else 1.0
    # Draws beyond 60 are left out of the law: below 1e-80 each.
    return min(1.0, tail * (1.0 + limits.SLACK) + times * (1e-80 + 20 * 2e-30) + 1e-15 * times)


def _middle(start: int, law: Floats) -> tuple[int, Floats]:
    """Probabilities of start, start + 1, .. without the ends that hold less than 1e-30 each."""
    low = int(np.searchsorted(np.cumsum(law), _END))
    high = law.size - int(np.searchsorted(np.cumsum(law[::-1]), _END))
    return start + low, law[low : max(high, low + 1)]


def of_messages(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    """What has probability 0: messages lost, added, repeated or early."""
    sent = plan.messages * tally.done
    for name, count in (
        ("messages that did not leave", tally.lost),
        ("messages that never came in", tally.foreign),
        ("messages that left more than once", tally.copies),
        ("messages of an earlier batch", tally.replays),
        ("dummies that were not added", tally.missing),
        ("messages of a batch below the minimum", tally.early),
    ):
        if name.startswith("dummies") and not plan.dummies:
            continue
        yield Finding(MESSAGES, "all", name, 0.0 if count else 1.0, sent, count, (0.0, 0.0))


def of_mixing(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    """Whether the orders are uniform, and those of different batches independent."""
    n, whole = plan.messages, tally.whole
    pairs = whole * (n // 2)
    p = limits.two_sided(tally.kept, pairs, 0.5, 0.5) if pairs else 1.0
    yield Finding(MIXING, "all", "neighbours in the same order", p, pairs, tally.kept, (0.5, 0.5))
    law = bins_law(n)
    for row, name in enumerate(("first", "middle", "last")):
        p = limits.multinomial(tally.positions[row], law, law)
        yield Finding(MIXING, "all", f"where the {name} message leaves", p, whole)
    for scale, (first, last) in tally.blocks.items():
        size = n // scale
        for words, counts in (("first", first), ("last", last)):
            p = limits.combined(_hypergeometric(counts, n, size, size))
            name = f"messages of the {words} 1/{scale} that leave {words}"
            yield Finding(MIXING, "all", name, p, whole * size, sum(counts))
    for name, count, law, times in (
        ("neighbours that leave as neighbours", tally.adjacent, successions_law(n), whole),
        ("messages that keep their place", tally.fixed, matches_law(n), whole),
        ("places that two batches treat alike", tally.repeated, matches_law(n), tally.pairs),
    ):
        yield Finding(MIXING, "all", name, of_sum(law, times, count), times * n, count)


def of_dummies(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    """Whether dummies leave anywhere among the messages (Lemma 7.3)."""
    n, d = plan.messages, plan.dummies
    if not d:
        return
    first, runs = tally.dummies
    for name, counts, law in (
        ("dummies in the first half of what leaves", first, (n + d, d, (n + d) // 2)),
        ("runs in which dummies leave", runs, (n + d, n + 1, d)),
    ):
        p = limits.combined(_hypergeometric(counts, *law))
        yield Finding(MIXING, "all", name, p, d * len(counts), sum(counts))


def _hypergeometric(counts: Sequence[int], n: int, marked: int, drawn: int) -> list[float]:
    """Two-sided p-values of how many of so many marked ones are drawn, for each batch."""
    found = np.asarray(counts, dtype=np.int64)
    tails = hypergeom.sf(found - 1, n, marked, drawn), hypergeom.cdf(found, n, marked, drawn)
    doubled = 2.0 * np.minimum(*tails) * (1.0 + limits.DRAWN) + limits.SMALLEST
    return np.minimum(1.0, doubled).tolist()


def bins_law(n: int) -> Floats:
    """Probabilities of the places' parts."""
    return bin_sizes(n) / n


def of_traces(plan: ShufflerPlan, tally: ShufflerTally) -> Iterator[Finding]:
    """Whether what leaves beside a message tells where it came in."""
    n = plan.messages
    for name in sorted(tally.traces):
        trace, shown = tally.traces[name], one_line(name)
        times = len(trace.halves)
        if times:
            p = limits.combined(_hypergeometric(trace.halves, n, n // 2, n // 2))
            words = f"{shown}: messages of the first half among the larger half"
            yield Finding(TRACES, "all", words, p, times * (n // 2), sum(trace.halves))
            for row, which in enumerate(("largest", "smallest")):
                p = limits.multinomial(np.array(trace.extremes[row]), bins_law(n), bins_law(n))
                words = f"{shown}: where the message with the {which} came in"
                yield Finding(TRACES, "all", words, p, times)
        if trace.pairs:
            p = of_sum(matches_law(n), trace.pairs, trace.repeated)
            words = f"{shown}: places of two batches with the same one"
            yield Finding(TRACES, "all", words, p, trace.pairs * n, trace.repeated)
