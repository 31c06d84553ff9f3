"""Certificates: written exactly, read strictly, checked by ball arithmetic."""

import json
import math
import re

import pytest
from click.testing import CliRunner

from frontend.parts import of_round
from shuffledp.arithmetic.intervals import LogInterval
from shuffledp.certificate import checksum, issue, read, to_json
from shuffledp.certificate.verifier import verify
from shuffledp.cli import main
from shuffledp.deployment import account, load

POPULATION = "[population]\nusers = 400\nminimum_batch = 50\ncolluding = 0.1\n"
RANDOMIZERS = {
    "k-rr": "k = 5\neps0 = 2.0",
    "binary-rr": "eps0 = 1.0",
    "rappor": "d = 6\neps0 = 2.0",
    "oue": "d = 6\neps0 = 2.0",
    "olh": "domain = 10\neps0 = 1.5",
    "blh": "domain = 10\neps0 = 1.5",
    "hadamard-response": "domain = 6\neps0 = 2.0",
    "subset": "d = 7\neps0 = 1.0",
    "generic": "eps0 = 2.0",
    "channel": "matrix = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]",
}


def written(tmp_path, name, target="delta = 1e-5", rtol="1e-4"):
    source = tmp_path / f"{name}.toml"
    source.write_text(
        f'title = "t"\n{POPULATION}[randomizer]\nname = "{name}"\n{RANDOMIZERS[name]}\n'
        f"[target]\n{target}\n[accounting]\nrtol = {rtol}\n"
    )
    deployment = load(source)
    path = tmp_path / f"{name}.certificate.json"
    path.write_text(to_json(issue(deployment, account(deployment.deployment))))
    return path


@pytest.fixture(scope="module")
def krr(tmp_path_factory):
    return written(tmp_path_factory.mktemp("krr"), "k-rr")


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def tampered(path, tmp_path, change, *, resign=True):
    content = json.loads(path.read_text())
    change(content)
    if resign:
        content["checksum"] = checksum(content)
    new = tmp_path / "tampered.json"
    new.write_text(json.dumps(content))
    return new


@pytest.mark.many(4)
@pytest.mark.parametrize("target", ["delta = 1e-5", "epsilon = 0.3"])
@pytest.mark.parametrize("name", RANDOMIZERS)
def test_what_was_issued_is_verified(tmp_path, name, target):
    path = written(tmp_path, name, target)
    assert {c.verdict: c.claim for c in verify(path)}.keys() == {"holds"}


def test_the_default_precision_is_verified_and_a_small_lie_is_found_out(tmp_path):
    path = written(tmp_path, "k-rr", rtol="1e-6")
    assert {c.verdict for c in verify(path)} == {"holds"}

    def change(content):
        claim(content, 0, "upper")["value"] *= 1 - 1e-5
        claim(content, 0, "lower")["value"] *= 1 + 3e-5

    checks = verify(tampered(path, tmp_path, change))
    found = next(c for c in checks if c.scenario == "now" and c.claim.startswith("upper"))
    assert found.verdict == "does not hold"


def test_numbers_come_back_bit_for_bit(krr):
    certificate = read(krr)
    assert to_json(certificate) == krr.read_text()
    deployment = load(krr.with_name("k-rr.toml"))
    bound = account(deployment.deployment).answers[0].bound
    upper, lower = certificate.members[0].ends[0].claims
    assert (upper.value, lower.value) == (bound.upper, bound.lower)
    assert certificate.deployment.sha256 == deployment.sha256


def claim(content, scenario, end):
    return next(c for c in of_round(content, scenario) if c["end"] == end)


@pytest.mark.parametrize("scenario", [0, 1, 2])
@pytest.mark.parametrize("end", ["upper", "lower"])
@pytest.mark.parametrize("by", [1e-2, 0.5])
def test_a_better_number_than_was_proved_is_found_out(krr, tmp_path, scenario, end, by):
    def change(content):
        factor = 1 - by if end == "upper" else 1 + by
        claim(content, scenario, end)["value"] *= factor

    path = tampered(krr, tmp_path, change)
    found = [c for c in verify(path) if c.verdict == "does not hold"]
    assert any(c.claim.startswith(end) for c in found)
    assert run("verify", path).exit_code == 1


@pytest.mark.parametrize("key", ["value", "log"])
@pytest.mark.parametrize("end", ["upper", "lower"])
def test_the_same_for_delta(tmp_path, end, key):
    path = written(tmp_path, "k-rr", "epsilon = 0.3")

    def change(content):
        better = -1e-3 if end == "upper" else 1e-3
        found = claim(content, 0, end)
        found[key] = found[key] + better if key == "log" else found[key] * (1 + better)

    assert any(
        c.verdict == "does not hold" and c.claim.startswith(end)
        for c in verify(tampered(path, tmp_path, change))
    )


CHANGES = {
    "n up": lambda c: claim(c, 0, "upper").__setitem__("n", 100000),
    "users up": lambda c: c["deployment"]["content"]["population"].__setitem__("users", 900),
    "colluders down": lambda c: c["deployment"]["content"]["population"].__setitem__(
        "colluding", 0.0
    ),
    "weaker randomizer": lambda c: c["deployment"]["content"]["randomizer"].__setitem__(
        "eps0", 3.0
    ),
    "delta down": lambda c: claim(c, 0, "upper").__setitem__("at", 1e-9),
    "eps0 down": lambda c: c.__setitem__("local_guarantees", [1.0]),
    "a scenario less": lambda c: c.__setitem__("claims", c["claims"][:2]),
    "an end less": lambda c: c["claims"].pop(0),
    "another analysis": lambda c: claim(c, 0, "upper")["witness"].__setitem__(
        "analysis", "dataset"
    ),
    "no witness": lambda c: claim(c, 0, "upper").__setitem__("witness", None),
    "no theorem": lambda c: claim(c, 0, "lower").__setitem__("theorem", []),
    "no lower end": lambda c: claim(c, 0, "lower").__setitem__("value", None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_tampering_is_found_out(krr, tmp_path, name):
    path = tampered(krr, tmp_path, CHANGES[name])
    assert "does not hold" in {c.verdict for c in verify(path)}


def test_any_change_without_the_checksum_is_found_out(krr, tmp_path):
    def change(content):
        found = claim(content, 0, "upper")
        found["value"] = math.nextafter(found["value"], 0.0)

    path = tampered(krr, tmp_path, change, resign=False)
    assert verify(path)[0].verdict == "does not hold"


def test_published_claims_must_rest_on_published_theorems(tmp_path):
    path = written(tmp_path, "generic")

    def change(content):
        found = of_round(content, 0)
        (published,) = (c for c in found if c["trust"] == "published")
        best = next(c for c in found if c["trust"] == "all" and c["end"] == "upper")
        published |= {key: best[key] for key in ("value", "theorem", "assumptions", "witness")}

    found = verify(tampered(path, tmp_path, change))
    assert any("not published" in c.how for c in found)


def test_deployment_file_is_compared(krr, tmp_path):
    toml = krr.with_name("k-rr.toml")
    assert run("verify", krr, "--deployment", toml).exit_code == 0
    other = tmp_path / "o.toml"
    other.write_text(toml.read_text() + "# changed\n")
    assert run("verify", krr, "--deployment", other).exit_code == 1
    assert run("verify", krr, "--deployment", tmp_path / "none.toml").exit_code == 2


def test_verify_output(krr):
    result = run("verify", krr)
    assert result.exit_code == 0
    assert re.fullmatch(r".*krr?.*: VERIFIED: all \d+ claims hold\n", result.stdout)
    listed = run("verify", krr, "-v").stdout
    assert listed.startswith(result.stdout)
    assert "Theorems are cited, not proved again" in listed
    assert listed.count("  holds  ") == int(re.search(r"all (\d+)", listed)[1])
    checks = json.loads(run("verify", krr, "--json").stdout)
    assert {c["verdict"] for c in checks} == {"holds"}


def test_undecided_is_exit_status_3(krr, monkeypatch):
    monkeypatch.setattr("shuffledp.certificate.curves._WIDTHS", (0.1,))
    wide = LogInterval(-99.0, 0.0)
    monkeypatch.setattr("shuffledp.bounds.profile.Profile.log_delta", lambda *_, **__: wide)
    monkeypatch.setattr("shuffledp.certificate.verifier.guarantee_check", lambda *_: verify_none())
    result = run("verify", krr)
    assert result.exit_code == 3
    assert "UNDECIDED" in result.stdout


def verify_none():
    from shuffledp.certificate.checks import Check

    return Check("file", "left out", "holds", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.__setitem__("format", "x/2"), "format = 'x/2': wanted"),
        (lambda c: c.__setitem__("extra", 1), "extra = 1: wanted no such key"),
        (lambda c: c["claims"][0].pop("at"), "at is missing"),
        (lambda c: c["claims"][0].__setitem__("n", 0), "claims[0].n = 0"),
        (lambda c: c["claims"][0].__setitem__("n", 2.5), "claims[0].n = 2.5"),
        (lambda c: c.__setitem__("format", "shuffledp-certificate/1"), "issue it again"),
        (lambda c: c["claims"][0].__setitem__("theorem", ["magic"]), "'magic' is no theorem's id"),
        (
            lambda c: c["deployment"]["content"]["population"].__setitem__("users", 2.5),
            "population.users = 2.5",
        ),
        (lambda c: claim(c, 0, "upper").__setitem__("value", -1.0), "claims[0].value = -1.0"),
        (lambda c: claim(c, 0, "upper").__setitem__("value", "1"), "claims[0].value = '1'"),
        (lambda c: claim(c, 0, "upper").__setitem__("value", math.nan), "NaN"),
    ],
)
def test_what_is_not_a_certificate_is_refused_in_one_line(krr, tmp_path, change, message):
    path = tampered_raw(krr, tmp_path, change)
    result = run("verify", path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def tampered_raw(path, tmp_path, change):
    content = json.loads(path.read_text())
    change(content)
    new = tmp_path / "bad.json"
    new.write_text(json.dumps(content))
    return new


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "wanted"),
        ('{"format": 1, "format": 2}', "given twice"),
        ('{"format": Infinity}', "Infinity"),
        ("[" * 100000, "not valid JSON"),
    ],
)
def test_files_that_are_not_even_json_objects(tmp_path, text, message):
    path = tmp_path / "c.json"
    path.write_text(text)
    result = run("verify", path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
