"""Random mechanisms with domains so small that every dataset of a few users can be looked at."""

import math
import random

import shuffledp as sd

EPS0 = (0.1, 0.5, 1.0, 1.7, 2.5, 4.0, 6.0)


def _eps0(rng):
    return rng.choice(EPS0) if rng.random() < 0.5 else round(rng.uniform(0.05, 5.0), 3)


def _matrix(rng):
    inputs, outputs = rng.randint(2, 3), rng.randint(2, 4)
    rows = []
    for _ in range(inputs):
        parts = [0.0 if rng.random() < 0.2 else rng.random() ** 2 + 0.01 for _ in range(outputs)]
        parts[rng.randrange(outputs)] += 0.2
        rows.append([p / math.fsum(parts) for p in parts])
    return rows


SINGLE = {
    "k-rr": lambda r: sd.KRR(k=r.randint(2, 4), eps0=_eps0(r)),
    "binary-rr": lambda r: sd.BinaryRR(eps0=_eps0(r)),
    "rappor": lambda r: sd.RAPPOR(d=r.randint(2, 3), eps0=_eps0(r)),
    "oue": lambda r: sd.OUE(d=r.randint(2, 3), eps0=_eps0(r)),
    "local-hash": lambda r: sd.LocalHash(domain=r.randint(2, 3), l=r.randint(2, 4), eps0=_eps0(r)),
    "blh": lambda r: sd.BLH(domain=r.randint(2, 3), eps0=_eps0(r)),
    "olh": lambda r: sd.OLH(domain=2, eps0=r.uniform(0.1, 1.5)),
    "hadamard-response": lambda r: sd.HadamardResponse(
        domain=r.randint(3, 4), eps0=_eps0(r), blocks=r.randint(1, 3)
    ),
    "subset": lambda r: sd.SubsetSelection(d=r.randint(3, 4), eps0=_eps0(r), k=r.randint(1, 2)),
    "pi-rappor": lambda r: sd.PIRAPPOR(domain=r.randint(2, 4), q=r.choice([2, 3]), eps0=_eps0(r)),
    "projective-geometry": lambda r: sd.ProjectiveGeometry(
        domain=r.randint(2, 4), q=r.choice([2, 3]), eps0=_eps0(r)
    ),
    "wheel": lambda r: sd.Wheel(domain=3, s=1, eps0=_eps0(r)),
    "channel": lambda r: sd.Channel(matrix=_matrix(r)),
    "sampling-rappor": lambda r: sd.SamplingRAPPOR(d=3, s=r.randint(1, 2), eps0=_eps0(r)),
    "pckv-grr": lambda r: sd.PCKVGRR(
        domain=2, s=r.randint(1, 2), eps0=_eps0(r), padding=r.random() < 0.4
    ),
    "duchi": lambda r: sd.Duchi(eps0=_eps0(r)),
    "piecewise": lambda r: sd.Piecewise(eps0=_eps0(r), low=0.0, high=3.0),
    "hybrid": lambda r: sd.Hybrid(eps0=_eps0(r)),
    "privunit": lambda r: sd.PrivUnit(
        d=2, c=r.choice([0.125, 0.3, 0.5, 0.6, 0.875]), eps0=_eps0(r)
    ),
    "staircase": lambda r: sd.Staircase(eps0=r.uniform(1.0, 4.0), low=-1.0, high=1.0),
    "discrete-laplace": lambda r: sd.DiscreteLaplace(
        top=r.randint(1, 3), eps0=_eps0(r), clamped=True
    ),
    "discrete-gaussian": lambda r: sd.DiscreteGaussian(
        top=r.randint(1, 2), sigma=r.uniform(0.4, 1.0)
    ),
    "hierarchy": lambda r: sd.Hierarchy(
        domain=r.randint(3, 4), branching=2, eps0=_eps0(r), base=r.choice(["k-rr", "rappor", "oue"])
    ),
}


def _bits(rng):
    name = rng.choice(("binary-rr", "k-rr", "channel", "oue"))
    if name == "k-rr":
        return sd.KRR(k=rng.randint(2, 3), eps0=_eps0(rng))
    if name == "oue":
        return sd.OUE(d=2, eps0=_eps0(rng))
    if name == "channel":
        row = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9)
        return sd.Channel(matrix=[[row[0], 1 - row[0]], [row[1], 1 - row[1]]])
    return sd.BinaryRR(eps0=_eps0(rng))


def _joint(rng):
    parts = [_bits(rng), _bits(rng)]
    return sd.Joint(parts, hamming=rng.choice([None, 1]))


def _parallel(rng):
    share = rng.uniform(0.05, 0.95)
    return sd.Parallel([_bits(rng), _bits(rng)], weights=[share, 1 - share])


COMPOSED = {
    "joint": _joint,
    "parallel": _parallel,
    "poisson-subsample": lambda r: sd.PoissonSubsample(_single(r), rate=r.uniform(0.05, 1.0)),
    "nested": lambda r: r.choice(
        [
            lambda: sd.Joint([_parallel(r), sd.BinaryRR(eps0=_eps0(r))]),
            lambda: sd.Parallel([sd.Joint([_bits(r), _bits(r)]), _bits(r)], weights=[0.25, 0.75]),
            lambda: sd.PoissonSubsample(_joint(r), rate=r.uniform(0.1, 0.9)),
            lambda: sd.Joint([_joint(r), _bits(r)], hamming=r.choice([None, 1])),
            lambda: sd.Parallel([_joint(r), _bits(r)], weights=[0.25, 0.75]),
            lambda: sd.Joint([sd.PoissonSubsample(_bits(r), rate=0.5), _bits(r)]),
        ]
    )(),
}


def _single(rng):
    return SINGLE[rng.choice(("k-rr", "subset", "duchi", "piecewise", "rappor"))](rng)


def mechanism(name, seed):
    """A random mechanism of this name ("nested" for parts inside parts)."""
    return {**SINGLE, **COMPOSED}[name](random.Random(f"{name} {seed}"))
