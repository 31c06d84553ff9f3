"""Declared shufflers and several users in deployment files."""

import itertools
from fractions import Fraction

import pytest

from adversary.neighbours import powers
from models import exact
from shuffledp.deployment import account, load

K_RR = 'name = "k-rr"\nk = 4\neps0 = 1.5'


def text(
    mechanism=K_RR, *, head="", users="users = 40", target="delta = 1e-3", shuffler="", more=""
):
    table = f"[shuffler]\n{shuffler}\n" if shuffler else ""
    return (
        f'title = "A title"\n{head}\n[population]\n{users}\n[randomizer]\n{mechanism}\n'
        f"[target]\n{target}\n{table}{more}\n"
    )


def written(folder, content, name="deployment.toml"):
    path = folder / name
    path.write_text(content)
    return path


# -------------------------------------------------------------- against all pairs of datasets


def matrix(rows):
    return f'name = "channel"\nmatrix = {exact.floats(rows)}'


@pytest.mark.parametrize("seed", range(2))
def test_accounts_against_all_datasets(tmp_path, seed):
    """Shards of two users and two dummies, two users changed, an order that is not uniform."""
    rng = exact.rng_of(700 + seed)
    rows, gamma = exact.channel(rng, 2, 2), Fraction(rng.choice([0.0, 0.05, 0.25]))
    epsilon, dummies = rng.choice([0.1, 0.4]), rng.choice([0, 2])
    content = text(
        matrix(rows),
        head=f"changed = {1 + seed % 2}",
        users="users = 5",
        target=f"epsilon = {epsilon}",
        shuffler=f"distance = {float(gamma)}\nshards = 2\ndummies = {dummies}",
    )
    source = load(written(tmp_path, content), sums=True, widened=True)
    now = account(source.deployment).named("now")
    assert now is not None
    assert now.n == 2 + dummies
    pairs = [
        ((*a, *c), (*b, *c))
        for a, b in exact.replaced(2, 2, 1 + seed % 2)
        for c in itertools.combinations_with_replacement(range(2), dummies)
    ]
    low, high = powers(epsilon)
    within = lambda alpha: max(exact.most_within(rows, a, b, alpha, gamma) for a, b in pairs)  # noqa: E731
    assert Fraction(now.bound.upper) >= within(high)
    assert Fraction(now.bound.lower) <= within(low)
