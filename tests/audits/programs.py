"""Faulty programs: each claims to be a mechanism and is another. Seeded, so that tests repeat."""

import itertools
import math

import numpy as np

import shuffledp as sd


def honest(mechanism, start=0):
    """The mechanism itself, another seed in every call."""
    seeds = itertools.count(start)
    return lambda values: mechanism.simulate(values, seed=next(seeds))


def seed_again(mechanism):
    """The same seed in every call."""
    return lambda values: mechanism.simulate(values, seed=7)


def seed_per_report(mechanism):
    """A generator made anew for each report, from a seed of 16 values that run on."""
    kinds = itertools.count()

    def program(values):
        rows = [mechanism.simulate([v], seed=(next(kinds) // 2) % 16) for v in values]
        return np.concatenate(rows)

    return program


def bits_for_nats(mechanism, *, eps0):
    """2^eps0 in place of e^eps0: eps0 given in bits."""
    del mechanism
    return honest(sd.KRR(k=10, eps0=eps0 / math.log2(math.e)))


def nats_for_bits(mechanism, *, eps0):
    """A parameter in nats read as if it were in bits: more is sent than was claimed."""
    del mechanism
    return honest(sd.KRR(k=10, eps0=eps0 * math.log2(math.e)))


def favours_item(mechanism, favoured, instead_of):
    """One item is reported where another one should be: the sum of both is as claimed."""
    run = honest(mechanism)

    def program(values):
        reports = run(values)
        return np.where(reports == instead_of, favoured, reports)

    return program


def numpy_laplace(scale, seed=0):
    """x + noise in floating point, as most programs do it."""
    generator = np.random.default_rng(seed)
    return lambda values: (
        np.asarray(values, dtype=float) + generator.laplace(0.0, scale, len(values))
    )


def truncated_laplace(scale, reach, seed=0):
    """Noise cut at this many scales: what is farther out is drawn again."""
    generator = np.random.default_rng(seed)

    def program(values):
        noise = generator.laplace(0.0, scale, len(values))
        while (far := np.abs(noise) > reach * scale).any():
            noise[far] = generator.laplace(0.0, scale, int(far.sum()))
        return np.asarray(values, dtype=float) + noise

    return program


def grid_laplace(scale, bits, seed=0):
    """Noise on a coarse grid."""
    generator = np.random.default_rng(seed)

    def program(values):
        noise = np.round(generator.laplace(0.0, scale, len(values)) * 2**bits) / 2**bits
        return np.asarray(values, dtype=float) + noise

    return program


def clipped_after(mechanism):
    """Reports clipped to the interval of inputs though the mechanism's are not."""
    inner = honest(mechanism)
    return lambda values: np.clip(inner(values), mechanism.low, mechanism.high)


def constant_hash(mechanism):
    """Local hashing with the same hash function for everybody: no key."""
    inner = honest(mechanism)

    def program(values):
        reports = inner(values).copy()
        own = np.random.default_rng(len(values)).random(len(values))
        m = reports.shape[1] - 1
        fixed = np.arange(1, m + 1) % mechanism.l
        digits = np.asarray(values, dtype=np.int64)[:, None] >> np.arange(m) & 1
        true = (digits * fixed).sum(axis=1) % mechanism.l
        keep = math.exp(mechanism.eps0) / (math.exp(mechanism.eps0) + mechanism.l - 1)
        other = (true + 1 + (own * 1e6).astype(np.int64) % (mechanism.l - 1)) % mechanism.l
        reports[:, :m] = fixed
        reports[:, m] = np.where(own < keep, true, other)
        return reports

    return program


def remembers(mechanism, share, seed=0):
    """Longitudinal: with this probability the last report for the same value, once more."""
    generator = np.random.default_rng(seed)
    inner = honest(mechanism)

    def program(values):
        reports = inner(values).copy()
        last = {}
        again = generator.random(len(values)) < share
        for place, value in enumerate(np.asarray(values).tolist()):
            if again[place] and value in last:
                reports[place] = last[value]
            last[value] = reports[place]
        return reports

    return program


def carries_over(mechanism, share, seed=0):
    """With this probability the report for the value asked for before."""
    generator = np.random.default_rng(seed)
    inner = honest(mechanism)

    def program(values):
        values = np.asarray(values)
        before = np.concatenate([values[:1], values[:-1]])
        other = generator.random(len(values)) < share
        return inner(np.where(other, before, values))

    return program


def sometimes_the_truth(mechanism, share, seed=0):
    """A fallback that sends the value itself."""
    generator = np.random.default_rng(seed)
    inner = honest(mechanism)

    def program(values):
        reports = inner(values)
        bare = generator.random(len(values)) < share
        return np.where(bare, values, reports)

    return program


def passes_outside(mechanism):
    """One value of the domain is not known to the program and passed through with a mark."""
    inner = honest(mechanism)

    def program(values):
        reports = inner(values).astype(np.int64)
        return np.where(
            np.asarray(values) == 1, np.where(reports == 1, mechanism.k, reports), reports
        )

    return program
