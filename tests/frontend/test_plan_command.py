"""``shuffledp plan``: a table of mechanisms, and a deployment file that meets the target."""

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.deployment import account, load, parse
from shuffledp.deployment.files import tomllib

ASKED = ["-n", "20,000", "--minimum-batch", 4_000, "--colluding", 0.1, "--delta", "1e-6"]
TASKS = {
    "frequencies": ["--values", 6],
    "ranges": ["--values", 16],
    "heavy-hitters": ["--bits", 24],
    "mean": ["--low", 0, "--high", 24],
}
KRR = ["k-rr", "--k", 5, "--eps0", 2, "-n", 1000, "--delta", "1e-6"]


def run(*args):
    return CliRunner().invoke(main, ["plan", *map(str, args)])


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("task", "rounds"),
    [("frequencies", 1), ("ranges", 1)]
    + [
        pytest.param(*of, marks=pytest.mark.long)
        for of in (("heavy-hitters", 1), ("frequencies", 4), ("mean", 1), ("mean", 2))
    ],
)
def test_the_deployment_meets_the_target(tmp_path, task, rounds):
    # Several rounds take seconds a mechanism: only those of few bits.
    bits = 3 if rounds > 1 and task != "mean" else 10**6
    out = tmp_path / "d.toml"
    more = ["--epsilon", 1, "--rounds", rounds, "--most-bits", bits, "-o", out]
    result = run(task, *TASKS[task], *ASKED, *more)
    assert result.exit_code == 0, result.stderr
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    assert "recommended: " in result.stdout
    deployment = load(out).deployment
    assert deployment.accounting.rounds == rounds
    assert deployment.population.minimum_batch == 4_000
    assert deployment.target.at_most == 1.0
    for name in ("now", "minimum batch"):
        bound = account(deployment).named(name, rounds=rounds).bound
        assert bound.upper <= 1.0
    # The smallest batch is what the target is for: nothing to speak of is given away.
    assert bound.upper >= 0.95


# ------------------------------------------------------------------------ one mechanism, as given


def test_a_mechanism_becomes_a_file_that_account_accepts(tmp_path):
    out = tmp_path / "d.toml"
    more = ["--minimum-batch", 100, "--participation", 0.9, "--epsilon", 2, "--rounds", 2]
    result = run(*KRR, *more, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == f"wrote {out}; next: shuffledp account {out}\n"
    found = load(out).deployment
    assert found.title == "k-rr, k = 5, eps0 = 2, 1,000 users"
    assert (found.population.minimum_batch, found.population.participation) == (100, 0.9)
    assert (found.target.delta, found.target.at_most) == (1e-6, 2.0)
    assert found.accounting.rounds == 2
    assert found.randomizer == {"name": "k-rr", "k": 5, "eps0": 2.0}
    assert parse(tomllib.loads(run(*KRR).stdout), where="t").population.users == 1000
