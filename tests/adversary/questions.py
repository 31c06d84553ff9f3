"""Random questions of every kind, and the exact answers they are held against.

Each kind draws a mechanism, makes its experiment from the definition under the neighbouring
relation that the bound itself prints, asks, and says what is on the wrong side.
"""

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

import shuffledp as sd
from adversary import cases
from adversary.channels import rows_of
from adversary.crowds import LONG, Experiment, adaptive, counts_law, datasets
from adversary.neighbours import whole_rows
from adversary.relations import pairs_of
from adversary.tally import Tally
from multimessage.definitions import laws as message_laws

ANALYSES = tuple(a.key for a in sd.analyses() if a.end != "estimate")
ONE = 1 << 200


def form_of(bound):
    """The relation that the bound prints: its form in files; its words open the assumptions."""
    form = bound.to_dict()["neighbouring_relation"]
    words = form.pop("words")
    assert words in bound.assumptions[0], (words, bound.assumptions)
    assert form == bound.relation.to_dict()
    return form


def a_delta(rng):
    return rng.choice((10.0 ** -rng.uniform(0.1, 14.0), 10.0 ** -rng.uniform(0.1, 3.0)))


def an_epsilon(rng, eps0):
    return rng.choice((0.0, rng.uniform(0.0, 0.3), rng.uniform(0.0, 1.0) * min(eps0, 8.0)))


def asked(rng, tally, acc, eps0, *, analysis=None, renyi=False):
    """A bound of a random question; None where the analysis does not apply."""
    at = {} if analysis is None else {"analysis": analysis}
    kind = rng.choice(("delta", "epsilon", "renyi") if renyi else ("delta", "epsilon"))
    if kind == "delta":
        at["epsilon"] = an_epsilon(rng, eps0)
    elif kind == "epsilon":
        at["delta"] = a_delta(rng)
    else:
        at["order"] = rng.choice((1.5, 2.0, 4.0, 16.0))
    try:
        return getattr(acc, kind)(**at)
    except sd.NotCertified:
        return None
    except Exception as error:  # noqa: BLE001 (whatever it is, it is no answer)
        tally.wrong.append(("raised", repr(error), acc, at))
        return None


# ---------------------------------------------------------------------------------- one round


def exact_rows(mechanism):
    """Rows in fractions whose sum is one, 2^-198 from the definition's."""
    return [[Fraction(v, ONE) for v in row] for row in whole_rows(rows_of(mechanism))]


def size(rows, n):
    """About how much work the enumeration is."""
    histograms = math.comb(len(rows[0]) + n - 1, n)
    return histograms * math.comb(len(rows) + n - 2, n - 1) * len(rows) ** 2


def drawn(rng, name=None):
    """A random mechanism, single or made of parts."""
    name = name or rng.choice((*cases.SINGLE, *cases.COMPOSED, *cases.COMPOSED))
    return cases.mechanism(name, rng.getrandbits(32))


def users(rng, rows, limit):
    """As many users as there is work for, or fewer."""
    fitting = [n for n in range(1, 7) if size(rows, n) < limit]
    return rng.choice(fitting) if fitting else None


def single(rng, tally, *, limit=20_000, questions=10):
    """A mechanism, alone or composed of parts: default and named analyses."""
    mechanism = drawn(rng)
    rows = exact_rows(mechanism)
    n = users(rng, rows, limit)
    if n is None:
        return
    acc = sd.shuffle(
        mechanism, n=n, rtol=rng.choice((1e-6, 1e-3)), trust=rng.choice(("all", "published"))
    )
    made = {}
    for i in range(questions):
        analysis = None if i < 3 else rng.choice(ANALYSES)
        bound = asked(rng, tally, acc, mechanism.eps0, analysis=analysis)
        if bound is None:
            continue
        form = form_of(bound)
        key = json.dumps(form)
        if key not in made:
            made[key] = Experiment(datasets(rows, n, pairs_of(mechanism, form)))
        kind = "parts" if mechanism.name in cases.COMPOSED or mechanism.parts() else "single"
        tally.held(
            kind if analysis is None else "named", bound, made[key], (mechanism, n, analysis)
        )


# ------------------------------------------------------------------- continuous reports


PLACES = [Fraction(i, 4) for i in range(5)]


def gaussian_rows(mechanism, cuts):
    """Gaussian noise on values in [0, 1], reports in cells."""

    def cdf(x, y):
        z = arb(fmpq(y.numerator, y.denominator)) - arb(fmpq(x.numerator, x.denominator))
        return (-z / (arb(mechanism.sigma) * arb(2).sqrt())).erfc() / 2

    rows = []
    for x in PLACES:
        below = [cdf(x, y) for y in cuts]
        rows.append([below[0], *(v - u for u, v in itertools.pairwise(below)), 1 - below[-1]])
    return rows


def continuous(rng, tally, *, questions=5):
    """Reports put into cells, which is a post-processing: upper ends alone are to hold."""
    eps0 = rng.uniform(0.2, 4.0)
    kind = rng.randrange(6)
    if kind == 0:
        mechanism = sd.Gaussian(sigma=rng.uniform(0.3, 3.0))
        cuts = sorted(Fraction(rng.uniform(-2.0, 3.0)) for _ in range(4))
        rows = [
            [Fraction(v, ONE) for v in row] for row in whole_rows(gaussian_rows(mechanism, cuts))
        ]
    else:
        far = rng.choice((1.0, rng.uniform(0.05, 1.0)))
        metric = sd.MetricLaplace(scale=rng.uniform(0.1, 2.0), distance=far)
        mechanism = {
            1: lambda: sd.Laplace(eps0=eps0),
            2: lambda: sd.ClampedLaplace(eps0=eps0, margin=rng.choice((0.0, 0.5))),
            3: lambda: sd.TruncatedLaplace(eps0=eps0, margin=rng.choice((0.0, 0.5))),
            4: lambda: metric,
            5: lambda: sd.PoissonSubsample(metric, rate=rng.uniform(0.2, 0.9)),
        }[kind]()
        rows = exact_rows(mechanism)
    n = 1 if size(rows, 2) > 40_000 else rng.choice((1, 2))
    acc = sd.shuffle(mechanism, n=n, rtol=1e-3)
    times = rng.choice((1, 1, 1, 2)) if n == 1 or len(rows) < 5 else 1
    asks = acc if times == 1 else acc.compose(rounds=times)
    made = None
    for i in range(questions):
        analysis = None if i < 3 or times > 1 else rng.choice(ANALYSES)
        bound = asked(rng, tally, asks, mechanism.eps0, analysis=analysis)
        if bound is None:
            continue
        if made is None:
            form = form_of(bound)
            pairs = list(itertools.combinations(range(len(rows)), 2))
            if form["key"] != "replace-one":
                pairs = pairs_of(mechanism, form)
            if not pairs:
                return
            made = Experiment(datasets(rows, n, pairs))
            if times > 1:
                room = 4_000_000 // made.p.shape[1] ** 2
                which = list(itertools.product(range(len(made)), repeat=2))
                made = made.times(
                    made, which if len(which) <= room else rng.sample(which, max(room, 1))
                )
        tally.held("continuous", bound, made, (mechanism, n, times, analysis), lower=False)


# ---------------------------------------------------------------------------------- rounds


def rounds(rng, tally, *, questions=8):
    """One or two mechanisms in two or three rounds, each under its own relation."""
    many = rng.choice((1, 1, 2))
    parts = []
    for _ in range(many):
        mechanism = drawn(rng, rng.choice((*cases.SMALL, *cases.COMPOSED)))
        rows = exact_rows(mechanism)
        n = users(rng, rows, 600)
        if n is None:
            return
        parts.append((mechanism, rows, n))
    if many == 2 and parts[0][0].name == parts[1][0].name:
        return
    times = rng.choice((1, 2, 3)) if many == 1 else 1
    composed = sd.compose([sd.shuffle(m, n=n, rtol=1e-4) for m, _, n in parts], rounds=times)
    eps0 = times * sum(m.eps0 for m, _, _ in parts)
    made = None
    for _ in range(questions):
        bound = asked(rng, tally, composed, eps0, renyi=True)
        if bound is None:
            continue
        form = form_of(bound)
        if made is None:
            made = composed_experiment(rng, parts, form, times)
            if made is None:
                return
        experiment, every = made
        about = ([(m, n) for m, _, n in parts], times)
        tally.held("rounds", bound, experiment, about, lower=every)


def composed_experiment(rng, parts, form, times, *, most=40_000, cells=4_000_000):
    """All rounds together: all pairs of datasets of each, or some; and whether it was all.

    A lower end is that of one pair of datasets in all rounds of a mechanism, so all of these are
    looked at, or nothing is said of lower ends.
    """
    labels = [m.name for m, _, _ in parts]
    own = dict.fromkeys(labels, form)
    if form["key"] == "each-round":
        own = {one["label"]: one["relation"] for one in form["rounds"]}
    each = [Experiment(datasets(rows, n, pairs_of(m, own[m.name]))) for m, rows, n in parts]
    total, every = each[0], True
    # Where the same pair of datasets in every round so far stands in ``total``.
    repeated = list(range(len(total)))
    for step in each[1:] if len(each) > 1 else each[:1] * (times - 1):
        if total.p.shape[1] * step.p.shape[1] > most:
            return None
        which = list(itertools.product(range(len(total)), range(len(step))))
        room = max(cells // (total.p.shape[1] * step.p.shape[1]), 1)
        if len(each) > 1:
            if len(which) > room:
                every, which = False, rng.sample(which, room)
        else:
            same = [(at, i) for i, at in enumerate(repeated)]
            if len(which) > room:
                every = every and len(same) <= room
                same = same[:room]
                which = same + rng.sample(which, room - len(same))
            places = {pair: place for place, pair in reversed(list(enumerate(which)))}
            repeated = [places[pair] for pair in same]
        total = total.times(step, which)
    return total, every


# ------------------------------------------------------------------------ families


def private_channel(rng, eps0, outputs):
    """A random eps0-LDP channel of three inputs: k-RR, or favoured outputs, equally many each."""
    grow = np.exp(LONG(eps0))
    ones = rng.randint(1, outputs - 1)
    rows = []
    for _ in range(3):
        chosen = set(rng.sample(range(outputs), ones))
        total = ones * grow + (outputs - ones)
        rows.append([grow / total if y in chosen else 1 / total for y in range(outputs)])
    return rows


def generic(rng, tally, *, questions=6):
    """Any eps0-LDP randomizers: in one order, the i-th chosen by what came before it."""
    eps0, n = rng.choice((0.2, 0.7, 1.0, 1.7, 2.5, 4.0)), rng.choice((1, 2, 2, 3))
    known = {}
    outputs = rng.randint(2, 3)
    depends = rng.random() < 0.5

    def tree(history):
        key = history if depends else len(history)
        if key not in known:
            known[key] = private_channel(rng, eps0, outputs)
        return known[key]

    pairs = [
        tuple(adaptive(tree, (x, *others)) for x in (0, 1))
        for others in itertools.combinations_with_replacement(range(3), n - 1)
    ]
    experiment = Experiment(pairs, roundings=40)
    acc = sd.generic(eps0=eps0, n=n, adaptive=depends, rtol=1e-4)
    grow = np.exp(LONG(eps0))
    members = [
        Experiment(
            datasets(
                [[(grow if x == y else 1) / (grow + k - 1) for y in range(k)] for x in range(k)],
                n,
                list(itertools.combinations(range(k), 2)),
            ),
            roundings=40,
        )
        for k in (2, 3)
    ]
    for _ in range(questions):
        analysis = rng.choice((None, None, None, *ANALYSES))
        bound = asked(rng, tally, acc, eps0, analysis=analysis)
        if bound is None:
            continue
        assert form_of(bound) == {"key": "replace-one"}
        best = max(members, key=lambda m: _value(m, bound))
        tally.held("generic", bound, experiment, (eps0, n, depends, analysis), least=best)


def _value(experiment, bound):
    at = bound.at.get("epsilon", bound.lower)
    return experiment.deltas(min(at, 300.0))[1]


def a_law(rng, size, top=12):
    parts = [rng.randint(0, top) for _ in range(size)]
    parts[rng.randrange(size)] += 1
    return [Fraction(v, sum(parts)) for v in parts]


def variation_ratio(rng, tally, *, questions=6):
    """Two laws of the victim, laws of the others that contain max(R0, R1)/q, each user its own."""
    outputs, n = rng.randint(2, 4), rng.randint(1, 4)
    zero, one = a_law(rng, outputs), a_law(rng, outputs)
    if any((a == 0) != (b == 0) for a, b in zip(zero, one, strict=True)) and rng.random() < 0.8:
        zero = [(a + b / 3) * Fraction(3, 4) for a, b in zip(zero, one, strict=True)]
        one = [(b + a / 3) * Fraction(3, 4) for a, b in zip(zero, one, strict=True)]
        one = [v / sum(one) for v in one]
    top = [max(a, b) for a, b in zip(zero, one, strict=True)]
    finite = all((a > 0) == (b > 0) for a, b in zip(zero, one, strict=True))
    used = [(a, b) for a, b in zip(zero, one, strict=True) if a or b]
    p = math.inf if not finite else up(max(max(a / b, b / a) for a, b in used))
    beta = up(sum(max(a - b, Fraction(0)) for a, b in zip(zero, one, strict=True)))
    q = float(math.ceil(sum(top) * rng.choice((8, 8, 9, 12, 40))) / 8)
    others = [_containing(rng, [v / Fraction(q) for v in top]) for _ in range(n - 1)]
    experiment = Experiment([tuple(counts_law([*others, row]) for row in (zero, one))])
    acc = sd.variation_ratio(p=p, beta=min(beta, 1.0), q=q, n=n, rtol=1e-4)
    attained = Experiment([labelled(p, min(beta, 1.0), q, n)])
    for _ in range(questions):
        analysis = rng.choice((None, None, *ANALYSES))
        bound = asked(rng, tally, acc, acc.eps0, analysis=analysis)
        if bound is None:
            continue
        about = (zero, one, others, p, beta, q, analysis)
        tally.held("variation ratio", bound, experiment, about, least=attained)


def up(x):
    """The float above a rational, or the one that is equal."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)


def _containing(rng, least):
    """A law that is nowhere below ``least``: all of the rest on one output, or spread."""
    rest = 1 - sum(least)
    extra = a_law(rng, len(least))
    if rng.random() < 0.5:
        place = rng.randrange(len(least))
        extra = [Fraction(int(i == place)) for i in range(len(least))]
    return [v + rest * e for v, e in zip(least, extra, strict=True)]


def labelled(p, beta, q, n):
    """The channel of docs/theory.md, Remark 5.9, for the largest beta there is."""
    beta, q = Fraction(beta), Fraction(q)
    largest = Fraction(1) if p == math.inf else (Fraction(p) - 1) / (Fraction(p) + 1)
    # Within 1e-12 of it the library takes it for equal: a beta that it calls a bound's argument.
    beta = largest if beta >= largest * (1 - Fraction(1, 10**12)) else beta
    beta = min(beta, q - 1) if n > 1 else beta
    if p == math.inf:
        large, small = beta, Fraction(0)
    elif p == 1.0:
        large = small = Fraction(0)
    else:
        small = beta / (Fraction(p) - 1)
        large = Fraction(p) * small
    rest = 1 - large - small
    rows = ([large, small, rest, Fraction(0)], [small, large, rest, Fraction(0)])
    other = [large / q, large / q, rest / q, 1 - (1 + beta) / q]
    return tuple(counts_law([*([other] * (n - 1)), row]) for row in rows)


# ------------------------------------------------------------------------ multi-message


def a_protocol(rng):
    f = rng.uniform(0.02, 0.45)
    return rng.choice(
        [
            lambda: sd.BalcerCheu(p=rng.uniform(0.05, 0.95)),
            lambda: sd.BalcerEtAl(blankets=rng.randint(1, 3)),
            lambda: sd.CheuZhilyaev(d=2, f=f, blankets=rng.randint(1, 2)),
            lambda: sd.BallsIntoBins(d=4, s=rng.choice((1, 2)), blankets=rng.randint(1, 2)),
            lambda: sd.PureDUMP(
                d=rng.randint(2, 4),
                blankets=rng.randint(1, 2),
                rate=rng.choice((1.0, rng.random())),
            ),
            lambda: sd.MixDUMP(d=rng.randint(2, 4), f=f, blankets=rng.randint(1, 2)),
        ]
    )()


def messages(rng, tally, *, questions=6):
    """A multi-message protocol: all data of all users, blanket messages and those not sent."""
    protocol, n = a_protocol(rng), rng.randint(1, 3)
    data, blanket = message_laws(protocol)
    count = n * protocol.blankets_per_user
    if size(data, n) * math.comb(len(blanket) + n + count, n + count) > 400_000:
        return
    pairs = list(itertools.combinations(range(len(data)), 2))
    made = datasets(data, n, pairs, blanket=blanket, blankets=count)
    experiment = Experiment(made)
    acc = sd.shuffle(protocol, n=n, rtol=1e-4)
    for _ in range(questions):
        bound = asked(rng, tally, acc, protocol.eps0)
        if bound is None:
            continue
        assert form_of(bound) == {"key": "replace-one"}
        tally.held("multi-message", bound, experiment, (protocol, n))


KINDS = {
    "single": single,
    "continuous": continuous,
    "rounds": rounds,
    "generic": generic,
    "variation ratio": variation_ratio,
    "multi-message": messages,
}
# Single mechanisms and parts are where most of the code is.
SHARES = {
    "single": 0.52,
    "continuous": 0.02,
    "rounds": 0.12,
    "generic": 0.12,
    "variation ratio": 0.12,
    "multi-message": 0.1,
}


def ask(count, seed):
    """At least ``count`` questions of all kinds, by their shares."""
    tally = Tally()
    for kind, share in SHARES.items():
        rng = random.Random(f"{seed} {kind}")
        wanted = tally.total + share * count
        while tally.total < wanted:
            KINDS[kind](rng, tally)
    return tally
