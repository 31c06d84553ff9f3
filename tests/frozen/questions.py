"""Some 400 questions over all mechanisms, analyses, users, targets, rounds and searches.

Their answers are kept in answers.json by ``python tests/frozen/freeze.py``: a change of the code's
inside may sharpen an answer and may not contradict or loosen one.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import shuffledp as sd
from catalogue import CATALOGUE
from objects.examples import ARGUMENTS, class_of
from shuffledp.multimessage.base import protocol_names
from shuffledp.randomizers.base import randomizer_names

Question = Callable[[], Any]

# Those that take many seconds a question are asked once.
HEAVY = {"gaussian-ball", "laplace-ball", "generalized-gaussian", "clamped-laplace"}


def _named(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in sorted(arguments.items()))})"


def _mechanisms() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in sorted(randomizer_names()):
        yield name, name, ARGUMENTS[name]
        strong = CATALOGUE[name].strong
        if strong:
            yield name, _named(name, strong), strong


def _front(arguments: dict[str, Any], name: str, n: int) -> Any:
    return sd.shuffle(class_of(name)(**arguments), n)


def single_rounds() -> Iterator[tuple[str, Question]]:
    """eps and delta of the front door, one round."""
    for name, label, arguments in _mechanisms():
        settings = [(40, 1e-6), (10**4, 1e-6), (10**6, 1e-12), (10**9, 1e-8)]
        for n, delta in settings[1:2] if name in HEAVY else settings:
            yield (
                f"{label} n={n} epsilon(delta={delta})",
                lambda a=arguments, m=name, n=n, d=delta: _front(a, m, n).epsilon(delta=d),
            )
        if name not in HEAVY:
            yield (
                f"{label} n=2000 delta(epsilon=0.5)",
                lambda a=arguments, m=name: _front(a, m, 2000).delta(epsilon=0.5),
            )


def protocols() -> Iterator[tuple[str, Question]]:
    """Several messages a user."""
    for name in sorted(protocol_names()):
        for n, delta in ((100, 1e-4), (10**4, 1e-6), (10**6, 1e-8)):
            yield (
                f"{name} n={n} epsilon(delta={delta})",
                lambda m=name, n=n, d=delta: _front(ARGUMENTS[m], m, n).epsilon(delta=d),
            )


def named_analyses() -> Iterator[tuple[str, Question]]:
    """Each analysis by its name."""
    keys = [a.key for a in sd.analyses() if a.end != "estimate"]
    for key, (name, arguments) in itertools.product(
        keys, (("k-rr", {"k": 10, "eps0": 2.0}), ("binary-rr", {"eps0": 1.0}))
    ):
        for n in (1000, 10**6):
            yield (
                f"{name} n={n} epsilon(delta=1e-06, analysis={key})",
                lambda a=arguments, m=name, n=n, k=key: _front(a, m, n).epsilon(
                    delta=1e-6, analysis=k
                ),
            )


def families() -> Iterator[tuple[str, Question]]:
    """Any randomizer of a local guarantee; a variation ratio; neighbours at a distance."""
    for eps0, n, adaptive in itertools.product((0.5, 2.0, 4.0), (300, 10**5), (False, True)):
        yield (
            f"generic eps0={eps0} n={n} adaptive={adaptive}",
            lambda e=eps0, n=n, a=adaptive: sd.generic(eps0=e, n=n, adaptive=a).epsilon(delta=1e-6),
        )
    for (p, beta, q), n in itertools.product(((4.0, 0.3, 2.5), (20.0, 0.5, 8.0)), (100, 10**5)):
        yield (
            f"variation ratio p={p} beta={beta} q={q} n={n}",
            lambda p=p, b=beta, q=q, n=n: sd.variation_ratio(p=p, beta=b, q=q, n=n).epsilon(
                delta=1e-6
            ),
        )
    for distance in (0.01, 0.1):
        yield (
            f"metric-laplace distance={distance}",
            lambda d=distance: sd.shuffle(
                sd.MetricLaplace(scale=0.25, distance=d), n=1000, rtol=1e-6
            ).epsilon(delta=1e-6),
        )


def rounds() -> Iterator[tuple[str, Question]]:
    """Composition, and what else is read off it."""
    chosen = [
        ("k-rr", {"k": 10, "eps0": 2.0}),
        ("binary-rr", {"eps0": 1.0}),
        ("rappor", {"d": 10, "eps0": 2.0}),
        ("hadamard-response", {"domain": 9, "eps0": 1.0}),
        ("laplace", {"eps0": 1.0}),
        ("gaussian", {"sigma": 2.0}),
    ]
    for (name, arguments), times in itertools.product(chosen, (1, 7, 100)):
        yield (
            f"{_named(name, arguments)} n=10000 rounds={times} epsilon(delta=1e-06)",
            lambda a=arguments, m=name, t=times: (
                _front(a, m, 10**4).compose(rounds=t).epsilon(delta=1e-6)
            ),
        )
    views: dict[str, Callable[[Any], Any]] = {
        "delta(epsilon=0.3)": lambda c: c.delta(epsilon=0.3),
        "renyi(order=8)": lambda c: c.renyi(order=8.0),
        "gdp()": lambda c: c.gdp(),
        "zcdp()": lambda c: c.zcdp(),
        "tradeoff(alpha=0.05)": lambda c: c.tradeoff(alpha=0.05),
        "posterior(prior=0.1, failure=0.001)": lambda c: c.posterior(prior=0.1, failure=1e-3),
        "success()": lambda c: c.success(),
    }
    for (name, arguments), (view, ask) in itertools.product(chosen[:4], views.items()):
        yield (
            f"{_named(name, arguments)} n=1000 rounds=5 {view}",
            lambda a=arguments, m=name, ask=ask: ask(_front(a, m, 1000).compose(rounds=5)),
        )


def searches() -> Iterator[tuple[str, Question]]:
    """A parameter for a target."""
    chosen: list[tuple[str, Any, Any]] = [
        ("k-rr k=10", lambda e: sd.KRR(k=10, eps0=e), sd.KRR(k=10, eps0=2.0)),
        ("binary-rr", lambda e: sd.BinaryRR(eps0=e), sd.BinaryRR(eps0=1.0)),
        ("rappor d=10", lambda e: sd.RAPPOR(d=10, eps0=e), sd.RAPPOR(d=10, eps0=2.0)),
    ]
    for label, family, one in chosen:
        for n, times in ((1000, 1), (10**5, 1), (10**5, 10)):
            yield (
                f"calibrate {label} n={n} rounds={times}",
                lambda f=family, n=n, t=times: sd.calibrate(
                    lambda value: sd.shuffle(f(value), n=n, rounds=t), epsilon=0.5, delta=1e-6
                ),
            )
        yield (
            f"required_users {label}",
            lambda one=one: sd.calibrate(
                lambda users: sd.shuffle(one, n=users),
                epsilon=0.2,
                delta=1e-8,
                find="smallest",
                whole=True,
                what="n",
            ),
        )
        yield (
            f"most_rounds {label}",
            lambda one=one: sd.calibrate(
                lambda rounds: sd.shuffle(one, n=10**5, rounds=rounds),
                epsilon=0.5,
                delta=1e-6,
                high=10**6,
                whole=True,
            ),
        )


def views() -> Iterator[tuple[str, Question]]:
    """Sums, noise of the aggregator, several users at once, shufflers, crowds."""
    bits = sd.RAPPOR(d=10, eps0=2.0)
    for n, relation in itertools.product((500, 10**5), ("replace-one", "replace-special")):
        yield (
            f"sums rappor n={n} {relation}",
            lambda n=n, r=relation: sd.shuffle(bits, n, view="sums", relation=r).epsilon(
                delta=1e-9
            ),
        )
    for kind in ("discrete-laplace", "discrete-gaussian"):
        yield (
            f"sums rappor n=500 added {kind}",
            lambda k=kind: sd.shuffle(
                bits, 500, view="sums", added=sd.AddedNoise(kind=k, scale=5.0)
            ).epsilon(delta=1e-6),
        )
    krr = sd.KRR(k=10, eps0=2.0)
    for changed in (2, 5):
        yield (
            f"k-rr n=10000 changed={changed}",
            lambda c=changed: sd.shuffle(krr, 10**4, changed=c).epsilon(delta=1e-6),
        )
    for label, shuffler in {
        "distance": sd.Shuffler(distance=1e-9),
        "shards": sd.Shuffler(shards=4),
        "dummies": sd.Shuffler(dummies=1000),
        "fills": sd.Shuffler(fills=True),
    }.items():
        yield (
            f"k-rr n=10000 shuffler {label}",
            lambda s=shuffler: sd.shuffle(krr, 10**4, shuffler=s).epsilon(delta=1e-6),
        )
    groups = [(sd.KRR(k=10, eps0=1.0), 3000), (sd.KRR(k=10, eps0=3.0), 1000)]
    for victim in (None, 0, 1):
        yield (
            f"crowd k-rr victim={victim}",
            lambda v=victim: sd.shuffle(groups=groups, victim=v).epsilon(delta=1e-6),
        )


def batches() -> Iterator[tuple[str, Question]]:
    """Training, by each way to make batches."""
    for sampler in ("balls-and-bins", "shuffle", "poisson"):
        for noise in (0.5, 1.0):
            yield (
                f"sgd {sampler} noise={noise}",
                lambda s=sampler, z=noise: sd.SGD(
                    n=10**4, noise=z, clip=1.0, epochs=1, batch=100, sampler=s
                ).epsilon(delta=1e-6),
            )


def questions() -> dict[str, Question]:
    """Every question under its name."""
    parts = (
        single_rounds,
        protocols,
        named_analyses,
        families,
        rounds,
        searches,
        views,
        batches,
    )
    return dict(itertools.chain.from_iterable(part() for part in parts))
