"""Rounds of a deployment: the account, its certificate, and claims that must not verify."""

import json

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from frontend.parts import of_rounds
from shuffledp.certificate import checksum, issue, read, to_json
from shuffledp.certificate.composed import basic as composed_basically
from shuffledp.certificate.verifier import verify
from shuffledp.cli import main
from shuffledp.deployment import account, load
from shuffledp.deployment.files import parse
from shuffledp.deployment.rounds import _times, after_rounds

RANDOMIZERS = {
    "k-rr": "k = 5\neps0 = 2.0",
    "rappor": "d = 6\neps0 = 1.0",
    "generic": "eps0 = 1.5",
    "channel": "matrix = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]",
}


def written(tmp_path, name="k-rr", target="delta = 1e-5", rounds=12, users=20000, rtol="1e-4"):
    source = tmp_path / f"{name}.toml"
    source.write_text(
        f'title = "t"\n[population]\nusers = {users}\ncolluding = 0.1\n'
        f'[randomizer]\nname = "{name}"\n{RANDOMIZERS[name]}\n'
        f"[target]\n{target}\n[accounting]\nrounds = {rounds}\nrtol = {rtol}\n"
    )
    deployment = load(source)
    path = tmp_path / f"{name}.certificate.json"
    path.write_text(to_json(issue(deployment, account(deployment.deployment))))
    return path


@pytest.fixture(scope="module")
def weekly(tmp_path_factory):
    return written(tmp_path_factory.mktemp("weekly"))


def composed(content, end, scenario=0):
    return next(c for c in of_rounds(content, scenario) if c["end"] == end)


def tampered(path, tmp_path, change):
    content = json.loads(path.read_text())
    change(content)
    content["checksum"] = checksum(content)
    new = tmp_path / "tampered.json"
    new.write_text(json.dumps(content))
    return new


def verdicts(path):
    """Verdicts of what is said of all rounds as it runs now, by end."""
    found = verify(path)
    return {
        c.claim.split()[0]: c.verdict for c in found if "rounds" in c.claim and c.scenario == "now"
    }


@pytest.mark.many(1)
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("k-rr", "delta = 1e-5"),
        ("k-rr", "epsilon = 0.25"),
        *(
            pytest.param(name, "epsilon = 0.25", marks=pytest.mark.long)
            for name in ("rappor", "generic", "channel")
        ),
        *(
            pytest.param(name, "delta = 1e-5", marks=pytest.mark.long)
            for name in ("rappor", "generic", "channel")
        ),
    ],
)
def test_what_was_issued_is_verified(tmp_path, name, target):
    found = verify(written(tmp_path, name, target))
    assert {c.verdict for c in found} == {"holds"}, [c for c in found if c.verdict != "holds"]


@pytest.mark.long
@pytest.mark.parametrize("rounds", [2, pytest.param(365, marks=pytest.mark.long)])
def test_few_and_many_rounds_are_verified(tmp_path, rounds):
    assert {c.verdict for c in verify(written(tmp_path, rounds=rounds))} == {"holds"}


@pytest.mark.many(1)
def test_the_ends_are_those_of_compose_but_for_the_lattice(weekly):
    certificate = read(weekly)
    best = sd.shuffle(sd.KRR(k=5, eps0=2.0), n=18000).compose(rounds=12).epsilon(delta=1e-5)
    upper, lower = (composed(json.loads(weekly.read_text()), end) for end in ("upper", "lower"))
    # Neither end may be beyond the other computation's opposite one.
    assert best.lower <= upper["value"] <= 1.003 * best.upper
    assert 0.985 * best.lower <= lower["value"] <= best.upper
    assert {c.rounds for c in certificate.claims} == {1, 12}


def test_without_a_shuffler_rounds_are_better_than_basic_composition(weekly):
    one = sd.shuffle(sd.KRR(k=5, eps0=2.0), n=1)
    found = after_rounds(one, rounds=12, quantity="epsilon", value=0.01)
    exact = one.compose(rounds=12).epsilon(delta=0.01)
    assert found.upper < 0.95 * 12 * 2.0
    assert exact.lower <= found.upper <= 1.001 * exact.upper
    assert 0.995 * exact.lower <= found.lower <= exact.upper
    failed = composed(json.loads(weekly.read_text()), "upper", scenario=1)
    assert failed["value"] <= 12 * 2.0


def test_the_sum_of_the_local_guarantees_is_an_upper_end(tmp_path):
    one = sd.shuffle(sd.KRR(k=5, eps0=8.0), n=1)
    found = after_rounds(one, rounds=14, quantity="epsilon", value=1e-9)
    assert found.upper == 112.0
    assert found.upper_theorem.key == "local"
    # 3 x 0.1 is not a float: what is claimed is not below it.
    assert _times(3, 0.1) == 0.30000000000000004


@pytest.mark.many(1)
@pytest.mark.parametrize("end", ["upper", "lower"])
@pytest.mark.parametrize("scenario", [0, 1])
def test_a_better_number_is_found_out(weekly, tmp_path, end, scenario):
    def change(content):
        composed(content, end, scenario)["value"] *= 0.999 if end == "upper" else 1.001

    found = verify(tampered(weekly, tmp_path, change))
    assert any(c.verdict == "does not hold" and c.claim.startswith(end) for c in found)


def scaled_values(content):
    """A smaller curve, and the eps that it would give."""
    claim = composed(content, "upper")
    claim["witness"]["values"] = [0.9 * v for v in claim["witness"]["values"]]
    claim["value"] *= 0.9


def one_value(content):
    values = composed(content, "upper")["witness"]["values"]
    values[7] *= 0.999


def shorter_dots(content):
    witness = composed(content, "upper")["witness"]
    witness["dots"] = [0.96875 * e for e in witness["dots"]]


def fewer_values(content):
    witness = composed(content, "upper")["witness"]
    witness["values"] = [*witness["values"][:5], 0.0]


def disordered_dots(content):
    dots = composed(content, "upper")["witness"]["dots"]
    dots[3], dots[4] = dots[4], dots[3]


def higher_values(content):
    witness = composed(content, "lower")["witness"]
    witness["ends"] = [[[1.05 * v for v in low], high] for low, high in witness["ends"]]


def lower_upper_values(content):
    """What continued chords start from."""
    witness = composed(content, "lower")["witness"]
    witness["ends"] = [[low, [0.99 * v for v in high]] for low, high in witness["ends"]]


def wider_dots(content):
    witness = composed(content, "lower")["witness"]
    witness["dots"] = [1.125 * e for e in witness["dots"]]


def basic(content):
    witness = composed(content, "upper")["witness"]
    del witness["dots"], witness["values"]
    witness["basic"] = True


def in_rounds(content, rounds):
    for claim in [*of_rounds(content, 0), *of_rounds(content, 1)]:
        claim["rounds"] = rounds


CHANGES = {
    "scaled values": scaled_values,
    "one value": one_value,
    "shorter dots": shorter_dots,
    "fewer values": fewer_values,
    "disordered dots": disordered_dots,
    "no values": lambda c: composed(c, "upper")["witness"].pop("values"),
    "no dots": lambda c: composed(c, "upper")["witness"].pop("dots"),
    "no witness": lambda c: composed(c, "upper").__setitem__("witness", None),
    "basic composition": basic,
    "another analysis": lambda c: composed(c, "upper")["witness"].__setitem__(
        "analysis", "stronger-clone"
    ),
    "a dataset above": lambda c: composed(c, "upper")["witness"].__setitem__("analysis", "dataset"),
    "higher values": higher_values,
    "lower upper values": lower_upper_values,
    "another dataset": lambda c: composed(c, "lower")["witness"].__setitem__("x2", 0),
    "no ends": lambda c: composed(c, "lower")["witness"].pop("ends"),
    "fewer rounds": lambda c: in_rounds(c, 11),
    "one round": lambda c: in_rounds(c, 1),
    "more rounds": lambda c: (
        in_rounds(c, 13),
        c["deployment"]["content"]["accounting"].__setitem__("rounds", 13),
    ),
    "n up": lambda c: composed(c, "upper").__setitem__("n", 10000),
    "an end less": lambda c: c["claims"].remove(composed(c, "upper")),
    "none": lambda c: [c["claims"].remove(one) for one in of_rounds(c, 1)],
    "swapped ends": lambda c: composed(c, "lower").__setitem__("value", 7.0),
}


@pytest.mark.many(2)
@pytest.mark.parametrize("name", CHANGES)
def test_tampering_is_found_out(weekly, tmp_path, name):
    path = tampered(weekly, tmp_path, CHANGES[name])
    assert "does not hold" in {c.verdict for c in verify(path)}


def test_wider_dots_never_verify(weekly, tmp_path):
    path = tampered(weekly, tmp_path, wider_dots)
    assert verdicts(path)["lower"] != "holds"


@pytest.mark.long
def test_a_larger_value_is_as_good_a_witness(weekly, tmp_path):
    """Values need only be upper bounds: a claim with room in it survives them."""

    def change(content):
        claim = composed(content, "upper")
        claim["value"] *= 1.02
        values = claim["witness"]["values"]
        values[3:6] = [v * 1.001 for v in values[3:6]]

    assert verdicts(tampered(weekly, tmp_path, change))["upper"] == "holds"


def test_a_mechanism_without_a_curve_has_basic_composition():
    table = {
        "title": "t",
        "population": {"users": 1000},
        "randomizer": {"name": "gaussian", "sigma": 2.0, "low": 0.0, "high": 1.0},
        "target": {"delta": 1e-6},
        "accounting": {"rounds": 4, "trust": "published", "rtol": 1e-3},
    }
    found = account(parse(table, where="f"))
    one = sd.shuffle(sd.Gaussian(sigma=2.0), n=1, trust="published").epsilon(delta=2.5e-7)
    for name in ("now", "shuffler fails"):
        composed = found.named(name, rounds=4).bound
        assert composed.upper == pytest.approx(4 * one.upper, rel=2e-3)
        assert composed.upper >= 4 * one.upper
        assert "basic" in composed.upper_theorem.title


def test_the_table_says_one_round_and_all(tmp_path):
    written(tmp_path)
    result = CliRunner().invoke(
        main, ["account", str(tmp_path / "k-rr.toml"), "--output", str(tmp_path / "o")]
    )
    assert result.exit_code == 0, result.stderr
    assert "After one round" in result.stdout
    assert "After all 12 rounds together" in result.stdout
    assert "fresh randomness" in result.stdout
    assert "one report per user and one round" not in result.stdout
    assert max(map(len, result.stdout.split("wrote")[0].splitlines())) <= 80 + len(str(tmp_path))


@pytest.mark.parametrize("rounds", [2, 3, 7, 52, 1000, 10**6 + 3])
def test_basic_composition_of_tiny_deltas_is_not_eased_by_rounding(rounds):
    """delta/T in logarithms: far below one a difference rounds by more than any fixed slack."""
    rng = np.random.default_rng(rounds)
    for log_delta in -(10.0 ** rng.uniform(0.0, 9.0, 50)):
        asked = []

        class Kept:
            def decide(self, epsilon, target, kept=asked):
                kept.append(target)
                return "holds", ""

        composed_basically(Kept(), rounds, 1.0, (log_delta, log_delta), upper=True)
        with mpmath.workdps(40):
            exact = mpmath.mpf(log_delta) - mpmath.log(rounds)
            ((low, high),) = asked
            assert low <= exact <= high
