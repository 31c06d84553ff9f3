"""Lower confidence bounds of eps0 beside those of LDP-Auditor and DP-Sniper, at the same sizes.

    python bench/audit_bounds.py tables --out docs/figures
    python bench/audit_bounds.py floats --reports 200000000

`tables` writes audit_bounds.csv: every bound at the counts that are expected under the law, so that
no draw decides. LDP-Auditor publishes figures and no numbers: its columns are its method, run by us
from its definition (a guess of the value; limits of Clopper and Pearson for how often the first of
two values is guessed, at half the level each). DP-Sniper's numbers are those of its reference
results, which are one run each. `floats` runs NumPy's Laplace noise, as DP-Sniper did.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import numpy as np
from scipy.stats import binom

import shuffledp as sd
from shuffledp.audits import AuditPlan, design, limits
from shuffledp.audits.design import best_event
from shuffledp.audits.tally import LOW_BITS

# LDP-Auditor (arXiv:2309.01597, section 5): trials under each of two values, level, domains, eps.
TRIALS, LEVEL = 1_000_000, 0.01
DOMAINS, EPSILONS = (25, 200), (0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 6.0, 10.0)
# DP-Sniper (Bichsel et al. 2021, eval_sp2021/reference-results): reports, one minus confidence.
SNIPER_REPORTS, SNIPER_LEVEL = 200_000_000, 0.1
# Published lower confidence bounds: logistic regression, neural network.
SNIPER = {
    "Laplace, eps 0.1": (0.09680373477842874, 0.09763363715243845),
    "truncated geometric, n 5, eps ln(9/8)": (0.11556448250263873, 0.11554327252275165),
    "RAPPOR, f 0.75, p 0.45, q 0.55, 6 bits differ": (0.2929848129867416, 0.30080244946686197),
    "one-time RAPPOR, f 0.95, 6 bits differ": (0.5977779392161473, 0.5998986783208569),
}
SNIPER_FLOATS = 0.2520752797659247
# Its events have this probability under the less likely value, by design.
SNIPER_SHARE = 0.01


# --------------------------------------------------------------------- LDP-Auditor's attack


def guessed(own, other, rest, k):
    """P(the first value is guessed): one of the supported values at random, of none any.

    The first is supported with probability ``own``, the second with ``other``, each of the k - 2
    others with ``rest``, independently.
    """
    counts = np.arange(k - 1)
    share = binom.pmf(counts, k - 2, rest)
    mean = (1.0 - other) * (share / (1.0 + counts)).sum() + other * (share / (2.0 + counts)).sum()
    none = (1.0 - own) * (1.0 - other) * (1.0 - rest) ** (k - 2)
    return own * mean + none / k


def attack(protocol, k, eps):
    """P(first value is guessed) under the first value and under the second one."""
    e = math.exp(eps)
    if protocol == "GRR":
        return e / (e + k - 1.0), 1.0 / (e + k - 1.0)
    if protocol == "SS":
        size = max(1, round(k / (e + 1.0)))
        p = size * e / (size * e + k - size)
        other = p * (size - 1) / (k - 1) + (1.0 - p) * size / (k - 1)
        return p / size, other / size
    if protocol in {"SUE", "OUE"}:
        half = math.exp(0.5 * eps)
        p, q = (
            (half / (half + 1.0), 1.0 / (half + 1.0)) if protocol == "SUE" else (0.5, 1 / (e + 1))
        )
        return guessed(p, q, q, k), guessed(q, p, q, k)
    g = 2 if protocol == "BLH" else round(e) + 1
    p, q = e / (e + g - 1.0), 1.0 / g
    return guessed(p, q, q, k), guessed(q, p, q, k)


def mechanism(protocol, k, eps):
    """The same of this package."""
    made = {
        "GRR": lambda: sd.KRR(k=k, eps0=eps),
        "SS": lambda: sd.SubsetSelection(d=k, eps0=eps),
        "SUE": lambda: sd.RAPPOR(d=k, eps0=eps),
        "OUE": lambda: sd.OUE(d=k, eps0=eps),
        "BLH": lambda: sd.BLH(domain=k, eps0=eps),
        "OLH": lambda: sd.OLH(domain=k, eps0=eps),
    }
    return made[protocol]()


PROTOCOLS = ("GRR", "SS", "SUE", "OUE", "BLH", "OLH")


def expected(p, q, n, level, share):
    """The bound at the counts that are expected, rounded against it."""
    return limits.Ratio(math.floor(n * p), n, math.ceil(n * q), n, share).epsilon(level)


def bound_of(claimed, n, level):
    """Our bound at the expected counts, all of the level on the event that is settled before."""
    plan = AuditPlan(randomizer=claimed, reports=n)
    found = design(plan)
    first, second = (found.reading.mass[i] for i in found.pairs[0].pair)
    event, share = best_event(first, second, n, level)
    return expected(float(first[event].sum()), float(second[event].sum()), n, level, share)


def auditor_rows():
    """Protocol, k, eps, their method, ours."""
    for protocol in PROTOCOLS:
        for k in DOMAINS:
            for eps in EPSILONS:
                theirs = expected(*attack(protocol, k, eps), TRIALS, LEVEL, 0.5)
                yield (
                    protocol,
                    k,
                    eps,
                    theirs,
                    bound_of(mechanism(protocol, k, eps), TRIALS, LEVEL),
                )


# --------------------------------------------------------------------------- DP-Sniper's cases


def bits(p, q, own, other):
    """Laws under two values of (ones among own bits) - (ones among the other's bits)."""

    def law(first, second):
        found = np.zeros(own + other + 1)
        for i in range(own + 1):
            for j in range(other + 1):
                chance = binom.pmf(i, own, first) * binom.pmf(j, other, second)
                found[i + other - j] += chance
        return found

    return np.array([law(p, q), law(q, p)])


def geometric(n, ratio, inputs):
    """Two-sided geometric noise, mass beyond 0 and n gathered there."""
    rows = []
    for c in inputs:
        row = np.array([ratio ** abs(z - c) for z in range(n + 1)]) * (1.0 - ratio) / (1.0 + ratio)
        row[0], row[n] = (ratio**d / (1.0 + ratio) for d in (c, n - c))
        rows.append(row)
    return np.array(rows)


def sniper_laws():
    """Channels with two inputs, for each published case but Laplace noise."""
    yield "truncated geometric, n 5, eps ln(9/8)", geometric(5, 8.0 / 9.0, (2, 1))
    # Of the published pair, 0 and 1, either value sets three bits that the other does not.
    # A set bit stays set with probability 1 - f/2 = 0.625, and is then 1 with q, else with p.
    p = 0.625 * 0.55 + 0.375 * 0.45
    yield "RAPPOR, f 0.75, p 0.45, q 0.55, 6 bits differ", bits(p, 1.0 - p, 3, 3)
    yield "one-time RAPPOR, f 0.95, 6 bits differ", bits(0.525, 0.475, 3, 3)


def sniper_rows():
    """Case, both published bounds, an event of their probability at the expected counts, ours."""
    claimed = sd.Laplace(eps0=0.1)
    # Below the smaller value both laws have the same shape: the ratio is exact from there on.
    theirs = expected(SNIPER_SHARE * math.exp(0.1), SNIPER_SHARE, SNIPER_REPORTS, SNIPER_LEVEL, 0.5)
    name = "Laplace, eps 0.1"
    yield name, *SNIPER[name], theirs, bound_of(claimed, SNIPER_REPORTS, SNIPER_LEVEL)
    for name, rows in sniper_laws():
        channel = sd.Channel(matrix=tuple(tuple(float(v) for v in row / row.sum()) for row in rows))
        order = np.argsort(-rows[0] / rows[1])
        # The likeliest cells until the share is reached, a part of the last one.
        p, q = _share(rows[0][order], rows[1][order], SNIPER_SHARE)
        theirs = expected(p, q, SNIPER_REPORTS, SNIPER_LEVEL, 0.5)
        yield name, *SNIPER[name], theirs, bound_of(channel, SNIPER_REPORTS, SNIPER_LEVEL)


def _share(first, second, share):
    p = q = 0.0
    for a, b in zip(first, second, strict=True):
        part = min(1.0, (share - q) / b)
        p, q = p + part * a, q + part * b
        if part < 1.0:
            break
    return p, q


# --------------------------------------------------------------------------------------- tables


def tables(options):
    """Write all bounds."""
    with (Path(options.out) / "audit_bounds.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("protocol", "k", "eps0", "ldp_auditor_method", "ours"))
        for *head, theirs, ours in auditor_rows():
            out.writerow((*head[:2], f"{head[2]:g}", f"{theirs:.6f}", f"{ours:.6f}"))
    with (Path(options.out) / "audit_sniper.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("case", "published_regression", "published_network", "their_event", "ours"))
        for name, *numbers in sniper_rows():
            out.writerow((name, *(f"{v:.6f}" for v in numbers)))


def floats(options):
    """NumPy's Laplace noise with eps = 0.1 on 0 and 1: the events of low bits, counted."""
    n = options.reports or SNIPER_REPORTS
    generator, counts = np.random.default_rng(0), np.zeros((2, len(LOW_BITS)), dtype=np.int64)
    for i in (0, 1):
        for start in range(0, n, _BLOCK):
            noise = generator.laplace(float(i), 10.0, min(_BLOCK, n - start))
            for j, shift in enumerate(LOW_BITS):
                scaled = noise * 2.0 ** (52 + shift)
                counts[i, j] += int(np.count_nonzero(scaled != np.floor(scaled)))
    # As many events as an audit looks at, in both directions: the level is shared by all.
    each = SNIPER_LEVEL / (2 * len(LOW_BITS))
    for j, shift in enumerate(LOW_BITS):
        for i in (0, 1):
            pair = int(counts[i, j]), int(counts[1 - i, j])
            bound = limits.Ratio(pair[0], n, pair[1], n, 0.5).epsilon(each)
            print(f"input {i}, no multiple of 2^-{52 + shift}: {pair} of {n:,}: {bound:.4f}")


# Reports of one block: 80 MB.
_BLOCK = 10_000_000


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("tables", "floats"))
    parser.add_argument("--reports", type=int)
    parser.add_argument("--out", default="docs/figures")
    options = parser.parse_args()
    {"tables": tables, "floats": floats}[options.what](options)


if __name__ == "__main__":
    main()
