"""Range queries over 1024 values from 100,000 users: one report each, at one level of a tree.

Run: python examples/range_queries.py
"""

import numpy as np

import shuffledp as sd

USERS, DOMAIN = 100_000, 1024

mechanism = sd.Hierarchy(domain=DOMAIN, branching=4, eps0=2.0, base="oue")
bound = sd.shuffle(mechanism, n=USERS).epsilon(delta=1e-8)
print(f"central eps: {bound.lower:.4f} to {bound.upper:.4f} at delta = 1e-8")

ages = np.random.default_rng(1).gamma(4.0, 60.0, USERS).astype(int).clip(0, DOMAIN - 1)
found = mechanism.estimate(mechanism.simulate(ages, seed=2))
for low, high in ((0, 100), (100, 300), (250, 251)):
    truth = np.mean((ages >= low) & (ages < high))
    guess = found.range(low, high)
    print(f"[{low}, {high}): {guess.value:.4f} +- {guess.standard_error:.4f}, truth {truth:.4f}")
