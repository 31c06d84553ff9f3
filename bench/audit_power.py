"""Level, power and speed of audits, measured.

    python bench/audit_power.py level --repeats 1000 > level.csv
    python bench/audit_power.py power --repeats 40 --out docs/figures
    python bench/audit_power.py draw --out docs/figures
    python bench/audit_power.py speed --reports 10000000

`power` also draws docs/figures/audit_power.png: the share of audits that refute each of five
faulty programs, over the number of reports, beside the exact power of the best single binomial
test at Holm's first level, which is less than that of all tests together. `draw` draws it alone.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import binom

import shuffledp as sd
from shuffledp.audit import AuditPlan, collected, design, limits, result_of
from shuffledp.audit.judge import grouped

ALPHA = 0.05
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)


def honest(mechanism, seed):
    """The mechanism itself, another seed in every call."""
    seeds = itertools.count(seed)
    return lambda values: mechanism.simulate(values, seed=next(seeds))


def with_truth(mechanism, share, seed):
    """A fallback that sends the value itself."""
    inner, generator = honest(mechanism, seed), np.random.default_rng(seed)
    return lambda v: np.where(generator.random(len(v)) < share, v, inner(v))


def cut_noise(reach, seed):
    """Laplace noise drawn again where it is farther out than so many scales."""
    generator = np.random.default_rng(seed)

    def program(values):
        noise = generator.laplace(0.0, 1.0, len(values))
        while (far := np.abs(noise) > reach).any():
            noise[far] = generator.laplace(0.0, 1.0, int(far.sum()))
        # On a lattice, so that nothing but the law is at fault.
        return (np.round((np.asarray(values) + noise) * 2.0**40) + 0.5) * 2.0**-40

    return program


K = sd.KRR(k=10, eps0=1.0)
FAULTS = {
    "eps0 = 1.2 in place of 1": (K, lambda s: honest(sd.KRR(k=10, eps0=1.2), s)),
    "k = 9 in place of 10": (K, lambda s: honest(sd.KRR(k=9, eps0=1.0), s)),
    "the truth, 3 in 100": (K, lambda s: with_truth(K, 0.03, s)),
    "sigma = 1.8 in place of 2": (
        sd.Gaussian(sigma=2.0),
        lambda s: honest(sd.Gaussian(sigma=1.8), s),
    ),
    "Laplace noise cut at 3 scales": (sd.Laplace(eps0=1.0), lambda s: cut_noise(3.0, s)),
}


def refuted(plan, found, program):
    """Whether one audit refutes."""
    tally = collected(plan, program, found=found)
    return result_of(plan, tally, found=found).verdict == "refuted"


def level(options):
    """How often honest programs are refuted."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("mechanism", "reports", "alpha", "audits", "refuted", "p_of_level_exceeded"))
    for mechanism in (K, sd.Laplace(eps0=1.0), sd.OUE(d=4, eps0=1.0), sd.Gaussian(sigma=2.0)):
        plan = AuditPlan(randomizer=mechanism, reports=options.reports or 500, alpha=ALPHA)
        found = design(plan)
        count = sum(
            refuted(plan, found, honest(mechanism, 1_000 * r)) for r in range(options.repeats)
        )
        p = limits.upper_tail(count, options.repeats, ALPHA)
        row = (mechanism.name, plan.reports, ALPHA, options.repeats, count, f"{p:.3f}")
        out.writerow(row)
        sys.stdout.flush()


def power_of(n, claimed, level, true):
    """Probability that the upper-tail test of ``claimed`` at this level refutes, if ``true``."""
    return float(binom.sf(limits.critical_count(n, claimed, level) - 1, n, true))


def single_test_power(plan, found, program):
    """Exact power of the best two-sided binomial test of one group of cells."""
    tests = len(result_of(plan, collected(plan, program(1), found=found), found=found).findings)
    level_each = plan.level / tests
    best, draws = 0.0, 1_000_000
    for i, value in enumerate(plan.values()):
        labels = found.reading.classify(program(7 + i)(np.array([value] * draws)))
        true = grouped(
            np.bincount(labels, minlength=len(found.reading.names) + 1)[:-1], found.groups
        )
        low, high = (grouped(r[i], found.groups) for r in (found.reading.low, found.reading.high))
        for k, count in enumerate(true):
            p = min(max(count / draws, 1e-12), 1.0 - 1e-12)
            n = plan.reports
            above = power_of(n, min(high[k], 1.0), level_each / 2.0, p)
            below = power_of(n, min(1.0 - low[k], 1.0), level_each / 2.0, 1.0 - p)
            best = max(best, above, below)
    return best


def power(options):
    """Share of audits that refute each fault, over the number of reports."""
    rows = []
    for name, (claimed, program) in FAULTS.items():
        for reports in SIZES:
            plan = AuditPlan(randomizer=claimed, reports=reports, alpha=ALPHA)
            found = design(plan)
            count = sum(
                refuted(plan, found, program(1_000 * r + 11)) for r in range(options.repeats)
            )
            theory = single_test_power(plan, found, program)
            rows.append((name, reports, options.repeats, count, f"{theory:.4f}"))
            print(*rows[-1], flush=True)
    out = Path(options.out)
    with (out / "audit_power.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("fault", "reports", "audits", "refuted", "best_single_test"))
        writer.writerows(rows)
    draw(rows, out / "audit_power.png")


def draw(rows, path):
    """Measured points with Clopper-Pearson intervals, the single test's exact power as a line."""
    import matplotlib.pyplot as plt

    from shuffledp.drawing.bands import COLOURS, DASHES, MARKERS

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    for place, (name, group) in enumerate(itertools.groupby(rows, key=lambda row: row[0])):
        colour, marker, dashes = COLOURS[place], MARKERS[place], DASHES[place]
        kept = list(group)
        x = np.array([row[1] for row in kept]) * 1.03 ** (place - 2)
        share = np.array([row[3] / row[2] for row in kept])
        low = [limits.lower_limit(row[3], row[2], 0.025) for row in kept]
        high = [limits.upper_limit(row[3], row[2], 0.025) for row in kept]
        errors = [share - low, np.array(high) - share]
        axes.errorbar(x, share, yerr=errors, fmt=marker, ms=5, color=colour, lw=1)
        axes.plot(x, [float(row[4]) for row in kept], color=colour, ls=dashes, lw=1.4)
        axes.plot([], [], marker=marker, ms=5, color=colour, ls=dashes, lw=1.4, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("reports under each input")
    axes.set_ylabel("share of audits that refute")
    axes.set_title("Power at level 0.05: measured (points), best single test (lines)", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def drawn_again(options):
    """The figure of the measurements that are kept."""
    out = Path(options.out)
    with (out / "audit_power.csv").open(newline="") as file:
        rows = [(n, int(k), int(m), int(c), t) for n, k, m, c, t in list(csv.reader(file))[1:]]
    draw(rows, out / "audit_power.png")


def speed(options):
    """Seconds for so many reports of our own randomizer, from the first call to the result."""
    for mechanism in (sd.KRR(k=10, eps0=1.0), sd.Laplace(eps0=1.0), sd.RAPPOR(d=8, eps0=1.0)):
        inputs = len(AuditPlan(randomizer=mechanism).asked)
        reports = (options.reports or 10_000_000) // inputs
        plan = AuditPlan(randomizer=mechanism, reports=reports, alpha=ALPHA)
        begin = time.perf_counter()
        found = design(plan)
        spent = [0.0]

        def program(values, made=mechanism, spent=spent):
            start = time.perf_counter()
            rows = made.simulate(values, seed=len(spent))
            spent.append(time.perf_counter() - start)
            return rows

        verdict = result_of(plan, collected(plan, program, found=found), found=found).verdict
        total = time.perf_counter() - begin
        print(
            f"{mechanism.name}: {plan.total:,} reports, {total:.1f} s "
            f"({sum(spent):.1f} s of them in the mechanism): {verdict}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("level", "power", "draw", "speed"))
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--reports", type=int)
    parser.add_argument("--out", default="docs/figures")
    options = parser.parse_args()
    made = {"level": level, "power": power, "draw": drawn_again, "speed": speed}
    made[options.what](options)


if __name__ == "__main__":
    main()
