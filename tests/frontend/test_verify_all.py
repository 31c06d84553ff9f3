"""The verifier knows every registered mechanism, and is taken in by none of their certificates."""

import json
import time

import pytest

import shuffledp as sd
from catalogue import CATALOGUE
from frontend.parts import of_round
from shuffledp.certificate import checksum, issue, to_json
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load
from shuffledp.randomizers import randomizer_class

# Of each name that the verifier knows one mechanism, or several where the law has cases.
TABLES = {name: entry.verified for name, entry in CATALOGUE.items() if entry.verified}
SLOW = {name for name, entry in CATALOGUE.items() if entry.verified_slowly}
LONG = {*((name, i) for name in SLOW for i in (0, 1))} - {
    ("truncated-laplace", 0),
    ("discrete-gaussian", 1),
}
CASES = [
    pytest.param(name, i, marks=[pytest.mark.long] * ((name, i) in LONG), id=f"{name}-{i}")
    for name, tables in TABLES.items()
    for i in range(len(tables))
]


def certified(folder, name, i, *, users, rtol, target="delta = 1e-4"):
    source = folder / "deployment.toml"
    source.write_text(
        f'title = "t"\n[population]\nusers = {users}\nminimum_batch = {users // 2}\n'
        f'[randomizer]\nname = "{name}"\n{TABLES[name][i]}\n'
        f"[target]\n{target}\n[accounting]\nrtol = {rtol}\n"
    )
    deployment = load(source)
    path = folder / "certificate.json"
    path.write_text(to_json(issue(deployment, account(deployment.deployment))))
    return path


def claims(content, scenario, end):
    return [c for c in of_round(content, scenario) if c["end"] == end]


def tampered(path):
    """Ends two per cent better than proved."""
    content = json.loads(path.read_text())
    for end, factor in (("upper", 0.98), ("lower", 1.02)):
        for claim in claims(content, 0, end):
            claim["value"] *= factor
    content["checksum"] = checksum(content)
    new = path.with_name("tampered.json")
    new.write_text(json.dumps(content))
    return new


@pytest.mark.parametrize("name", sorted(sd.randomizer_names()))
def test_every_registered_name_is_here_or_refused(name):
    """A mechanism that is not below is one that the verifier says it does not know."""
    if name not in TABLES:
        assert not randomizer_class(name).in_files
    assert set(TABLES) <= set(sd.randomizer_names())


@pytest.mark.many(2)
@pytest.mark.parametrize(("name", "i"), CASES)
def test_honest_certificates_are_verified_and_lies_are_not(tmp_path, name, i):
    slow = name in SLOW
    path = certified(tmp_path, name, i, users=60, rtol="1e-2" if slow else "1e-4")
    start = time.process_time()
    found = verify(path)
    assert [c for c in found if c.verdict != "holds"] == []
    assert time.process_time() - start < 60.0  # no hang
    content = json.loads(path.read_text())
    ends = [c["value"] for end in ("upper", "lower") for c in claims(content, 0, end)]
    assert all(value > 0.0 for value in ends)
    found = verify(tampered(path))
    lies = [c for c in found if c.scenario == "now" and " epsilon " in c.claim]
    assert len(lies) == len(ends)
    # The local guarantee of unbounded noise is a bound with room: two per cent less still holds.
    loose = [c for c in lies if c.how.startswith("local") and c.verdict == "holds"]
    assert len(loose) <= (name in SLOW)
    assert {c.verdict for c in lies if c not in loose} <= {"does not hold", "undecided"}


@pytest.mark.long
@pytest.mark.parametrize("target", ["delta = 1e-6", "epsilon = 0.25"])
@pytest.mark.parametrize(("name", "i"), CASES)
def test_more_users_and_digits(tmp_path, name, i, target):
    path = certified(tmp_path, name, i, users=2000, rtol="1e-3", target=target)
    left = [c for c in verify(path) if c.verdict != "holds"]
    # delta of 1e-150 and less: the reason is the work it would take, and for this noise alone.
    assert not left or (name == "generalized-gaussian" and target == "epsilon = 0.25")
    assert all(c.verdict == "undecided" for c in left)
    assert all("allowed" in c.how or "panels" in c.how for c in left)


@pytest.mark.parametrize("name", ["pi-rappor", "projective-geometry"])
def test_a_field_of_a_certificate_has_as_many_elements_as_there_are(tmp_path, name):
    """Of 5 elements: verified; of another field's numbers not, and of none refused by name."""
    path = certified(tmp_path, name, 1, users=60, rtol="1e-4")
    content = json.loads(path.read_text())
    assert content["deployment"]["content"]["randomizer"]["q"] == 5
    assert {c.verdict for c in verify(path)} == {"holds"}

    def edited(q):
        content["deployment"]["content"]["randomizer"]["q"] = q
        content["checksum"] = checksum(content)
        path.write_text(json.dumps(content))
        return verify(path)

    assert "does not hold" in {c.verdict for c in edited(7)}
    for q in (4, 6, 1, 2**31):
        with pytest.raises(sd.ParameterError, match=rf"randomizer\.q = {q}: wanted"):
            edited(q)
