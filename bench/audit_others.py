"""Audit other packages' mechanisms: pure-ldp, multi-freq-ldpy, OpenDP.

    python -m venv /tmp/others
    /tmp/others/bin/pip install . pure-ldp scikit-learn statsmodels multi-freq-ldpy opendp \
        'xxhash<4'
    /tmp/others/bin/python bench/audit_others.py --reports 20000 --alpha 0.01 > others.csv

None of them is needed by anything else here. Each adapter gives values and takes reports as the
package's own functions do; where reports have another form than ours, they are read as which of
three items they support, whose claimed law is that of ideal hashing.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import math
import sys

import numpy as np

import shuffledp as sd
from shuffledp.audits import AuditPlan, audit

EPS, SIZE = 1.0, 8


def each(function):
    """A function of one value as one of many."""
    return lambda values: np.array([function(v) for v in np.asarray(values).tolist()])


def packed(function):
    """Vectors of bits as packed bytes."""
    inner = each(function)
    return lambda values: np.packbits(inner(values).astype(np.uint8), axis=1)


def hits(function, hashed, items):
    """(answer, seed) as the number whose binary digits say which items hash to the answer."""

    def one(value):
        answer, seed = function(value)
        return sum((hashed(x, seed) == answer) << j for j, x in enumerate(items))

    return each(one)


def hashing_law(eps, g, items):
    """Of a report: which of three items are hit, the own one e^eps times as likely."""
    rows = []
    for x in items:
        unit = g / (math.exp(eps) + g - 1)
        row = []
        for pattern in range(2 ** len(items)):
            bits = [pattern >> j & 1 for j in range(len(items))]
            base = math.prod(1 / g if bit else 1 - 1 / g for bit in bits)
            row.append(base * unit * (math.exp(eps) if bits[items.index(x)] else 1.0))
        rows.append(tuple(v / sum(row) for v in row))
    return sd.Channel(matrix=tuple(rows))


def pure_ldp():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from pure_ldp.frequency_oracles.unary_encoding import UEClient
    from xxhash import xxh32

    def index(x):
        return x

    def xx(g):
        return lambda x, seed: xxh32(str(x), seed=seed).intdigest() % g

    de = DEClient(EPS, SIZE, index_mapper=index)
    yield "DEClient", sd.KRR(k=SIZE, eps0=EPS), each(de.privatise), None
    for optimal, mechanism in ((False, sd.RAPPOR), (True, sd.OUE)):
        ue = UEClient(EPS, SIZE, use_oue=optimal, index_mapper=index)
        name = f"UEClient(use_oue={optimal})"
        yield name, mechanism(d=SIZE, eps0=EPS), packed(ue.privatise), None
    for optimal in (False, True):
        lh = LHClient(EPS, SIZE, use_olh=optimal, index_mapper=index)
        yield (
            f"LHClient(use_olh={optimal})",
            hashing_law(EPS, lh.g, [0, 1, 2]),
            hits(lh.privatise, xx(lh.g), [0, 1, 2]),
            None,
        )
    he = HEClient(EPS, 2, index_mapper=index)
    one = each(lambda v: he.privatise(int(v))[1])
    yield "HEClient, one coordinate", sd.Laplace(eps0=EPS / 2), one, (0.0, 1.0)


def multi_freq():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    from xxhash import xxh32

    yield "GRR_Client", sd.KRR(k=SIZE, eps0=EPS), each(lambda v: GRR_Client(v, SIZE, EPS)), None
    for optimal, mechanism in ((False, sd.RAPPOR), (True, sd.OUE)):
        program = packed(lambda v, o=optimal: UE_Client(v, SIZE, EPS, optimal=o))
        yield f"UE_Client(optimal={optimal})", mechanism(d=SIZE, eps0=EPS), program, None
    size = int(max(1, np.rint(SIZE / (np.exp(EPS) + 1))))
    claimed = sd.SubsetSelection(d=SIZE, eps0=EPS, k=size)
    yield "SS_Client", claimed, each(lambda v: np.sort(SS_Client(v, SIZE, EPS))), None
    for optimal in (False, True):
        g = round(np.exp(EPS)) + 1 if optimal else 2
        program = hits(
            lambda v, o=optimal: LH_Client(v, SIZE, EPS, optimal=o),
            lambda x, seed, g=g: xxh32(str(x), seed=int(seed)).intdigest() % g,
            [0, 1, 2],
        )
        yield f"LH_Client(optimal={optimal})", hashing_law(EPS, g, [0, 1, 2]), program, None
    one = each(lambda v: HE_Client(int(v), 2, EPS)[1])
    yield "HE_Client, one coordinate", sd.Laplace(eps0=EPS / 2), one, (0.0, 1.0)


def open_dp():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    categories = [str(x) for x in range(SIZE)]
    prob = math.exp(EPS) / (math.exp(EPS) + SIZE - 1)
    response = dp.m.make_randomized_response(categories=categories, prob=prob)
    claimed = sd.KRR(k=SIZE, eps0=EPS)
    yield "make_randomized_response", claimed, each(lambda v: int(response(str(v)))), None
    coin = dp.m.make_randomized_response_bool(prob=math.exp(EPS) / (math.exp(EPS) + 1))
    claimed = sd.BinaryRR(eps0=EPS)
    yield "make_randomized_response_bool", claimed, each(lambda v: int(coin(bool(v)))), None
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1.0 / EPS)
    yield "make_laplace (float)", sd.Laplace(eps0=EPS), each(laplace), None


PACKAGES = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq, "opendp": open_dp}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--only", choices=PACKAGES)
    options = parser.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(
        [
            "package",
            "version",
            "mechanism",
            "claimed",
            "verdict",
            "kinds",
            "worst",
            "lower",
            "claimed_eps",
        ]
    )
    for package, cases in PACKAGES.items():
        if options.only not in (None, package):
            continue
        version = importlib.metadata.version(package)
        for name, claimed, program, inputs in cases():
            plan = AuditPlan(
                randomizer=claimed, reports=options.reports, alpha=options.alpha, inputs=inputs
            )
            result = audit(program, plan)
            kinds = "+".join(dict.fromkeys(f.kind for f in result.refutations))
            worst = result.refutations[0] if result.refutations else None
            words = "" if worst is None else f"{worst.subject}: {worst.cell}, {worst.count}"
            lower = f"{math.floor(result.lower.lower * 1e4) / 1e4:.4f}"
            claim = f"{result.lower.claimed:.6g}"
            out.writerow(
                [package, version, name, claimed.name, result.verdict, kinds, words, lower, claim]
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
