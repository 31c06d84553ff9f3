"""Certificates of every kind of deployment: what was issued is verified, and nothing else is.

Every field is changed, one at a time, with a checksum that is right: the verdict changes, or the
field is on a short list: free text and what else ``verify`` prints as not checked, and claims that
say less than before.
"""

import json
import subprocess
import sys

import pytest

from catalogue import CATALOGUE
from frontend.certificates import KINDS, RUN, issued, issued_of, one
from frontend.edits import at, caught, edits, outcome, place, remember, resigned
from multimessage.test_deployments import PROTOCOLS
from shuffledp.certificate import read, to_dict, verifier
from shuffledp.certificate.verifier import verify
from shuffledp.errors import ParameterError
from shuffledp.mechanism.base import mechanism_class
from shuffledp.randomizers import randomizer_names

pytestmark = pytest.mark.usefixtures("rough_proposals")

# An edited setting of which every claim is true is another deployment's, which the file shows.
IN_THE_FILE = ("deployment.sha256", "release")
FREE = {
    "deployment.file",
    "shuffledp_version",
    "release.table",
    "release.sha256",
    "release.nulls",
}
# Kinds whose certificate takes many seconds to issue or to verify.
SLOW = {
    "rounds", "rounds, stolen", "lone jump", "sums", "sums, a delta", "sums, rounds",
    "crowd of responses", "crowd of matrices", "crowd apart", "crowd of one mechanism",
}  # fmt: skip


def marked(kinds, slow):
    return [pytest.param(k, marks=pytest.mark.long) if k in slow else k for k in kinds]


def better(content, *, change):
    """A copy for each number that is claimed now, better than proved by a share."""
    for i, claim in enumerate(content["claims"]):
        if claim["situation"] != "now" or not claim["value"]:
            continue
        factor = 1.0 - change if claim["end"] == "upper" else 1.0 + change
        new = json.loads(json.dumps(content))
        new["claims"][i]["value"] *= factor
        yield claim, resigned(new)


@pytest.mark.parametrize("kind", marked(KINDS, SLOW - {"rounds"}))
def test_what_was_issued_is_verified_and_what_is_better_is_not(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    source, content = issued(kind)
    path = tmp_path / "certificate.json"
    honest = outcome(content, path, deployment=source)
    assert not caught(honest), [check for check in honest if check.verdict != "holds"]
    # Written, read and written again: bit for bit.
    assert to_dict(read(path)) == content
    for claim, forged in better(content, change=0.02):
        found = outcome(forged, path)
        assert any(
            c.verdict == "does not hold" and c.claim.startswith(claim["end"]) for c in found
        ), claim


OTHER_ROUNDING = """
import sys
import numpy as np
from shuffledp.cli import main
from shuffledp.propose import saddle, stealing

chance = np.random.default_rng(2)


class Rounded:
    def __getattr__(self, name):
        found = getattr(np, name)
        if name not in {"exp", "expm1", "log", "log1p", "sqrt"}:
            return found

        def rounded(*given, **named):
            value = found(*given, **named)
            return value * (1.0 + 2e-16 * chance.integers(-1, 2, size=np.shape(value)))

        return rounded


saddle.np = stealing.np = Rounded()
main(sys.argv[1:])
"""


@pytest.mark.long
def test_a_machine_that_rounds_otherwise_verifies_few_users(tmp_path):
    """Rounding decides where the search for label stealing's numbers ends."""
    krr, made = 'name = "k-rr"\nk = 10\neps0 = 4.0', tmp_path / "few.toml"
    made.write_text(one(krr, users="users = 150", target="delta = 1e-6", rtol=1e-6))
    issue = [sys.executable, "-c", OTHER_ROUNDING, "account", str(made), "-o", str(tmp_path)]
    subprocess.run(issue, check=True, capture_output=True)
    again = [sys.executable, "-m", "shuffledp", "verify", str(tmp_path / "few.certificate.json")]
    found = subprocess.run(again, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("mechanism", "users", "target"),
    [
        ('name = "k-rr"\nk = 3\neps0 = 0.5', 3000, "delta = 1e-2"),
        ('name = "k-rr"\nk = 10\neps0 = 6.0', 40, "epsilon = 0.3"),
        ('name = "duchi"\neps0 = 4.0', 40, "epsilon = 0.3"),
    ],
)
def test_estimates_of_few_users_and_of_no_eps_refuse_no_honest_certificate(
    mechanism, users, target, tmp_path
):
    """An eps of 0 meets more than its target; sums of few gains are estimated roughly."""
    _, content = issued_of(one(mechanism, users=f"users = {users}", target=target))
    found = outcome(content, tmp_path / "certificate.json")
    assert not caught(found), list(found)


# ------------------------------------------------------------------- every field, one at a time


def weaker(path, value, content):
    """Whether no more is claimed than before: a number was moved outward."""
    old = at(content, path) if value not in ("deleted", "twice", "moved") else None
    if not isinstance(value, float) or not isinstance(old, int | float):
        return False
    if value == old or (path[0] == "local_guarantees" and value > old):
        return True
    if path[-1] != "value":
        return False
    claim = at(content, path[:-1])
    # Of an infinite eps no more than 300 nats are said: more is true.
    beyond = claim["end"] == "lower" and claim["value"] > 299.0
    return (value > old if claim["end"] == "upper" else value < old) or beyond


def of_each_place(changed, count):
    """So many edits of each place, not always the first of its list."""
    places = {}
    for edit in changed:
        places.setdefault(place(edit[0]), []).append(edit)
    for i, found in enumerate(places.values()):
        for k in range(min(count, len(found))):
            yield found[(i + k * max(1, len(found) // count)) % len(found)]


def check_edits(kind, folder, chosen):
    """Make these changes to one certificate; how many there were."""
    source, content = issued(kind)
    path, tried = folder / "certificate.json", 0
    assert not caught(outcome(content, path, deployment=source))
    every = (edit for edit in edits(content) if not weaker(*edit[:2], content))
    for where, what, new in chosen(every):
        tried += 1
        forged = new if where[:1] == ("checksum",) else resigned(new)
        if where[:2] == ("deployment", "content"):
            # Another deployment's certificate may be a true one: its file tells them apart.
            assert caught_by_file(forged, path, source), (where, what)
            continue
        if caught(outcome(forged, path)):
            continue
        spot = place(where)
        if spot not in FREE:
            assert spot.startswith(IN_THE_FILE), (spot, what)
            assert caught(outcome(forged, path, deployment=source)), (spot, what)
    return tried


def caught_by_file(forged, path, source):
    """Whether it is refused, or not what the deployment file says; nothing is computed."""

    def not_asked(*_, **__):
        raise ParameterError("not asked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verifier, "answer_of", not_asked)
        found = outcome(forged, path, deployment=source)
    if isinstance(found, str):
        return True
    return any(c.scenario == "file" and c.verdict == "does not hold" for c in found)


@pytest.mark.parametrize("kind", marked(KINDS, SLOW))
def test_a_change_of_every_field_is_noticed(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    assert check_edits(kind, tmp_path, lambda found: of_each_place(found, 1)) >= 45


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_every_field_is_noticed(kind, tmp_path, monkeypatch):
    """Of certificates that take seconds to verify some changes of each place."""
    remember(monkeypatch)
    count = 3 if kind in SLOW else 10**6
    assert check_edits(kind, tmp_path, lambda found: of_each_place(found, count)) > 100


def test_what_is_not_checked_is_said(tmp_path):
    path = tmp_path / "certificate.json"
    source, content = issued(RUN)
    path.write_text(json.dumps(content))
    words = " ".join(verify(path).left)
    for said in ("A title", "deployment.toml", "rtol", "table data", "55 users", "e.csv"):
        assert said in words
    assert "70 users were declared" in words
    left = " ".join(verify(path, deployment=source, table_hash="0" * 64).left)
    for said in ("A title", "deployment.toml", "rtol", "table data", "declared"):
        assert said not in left
    assert "called 'e.csv': bytes" in left
    # Of a copy by another name the bytes are the same, the name is not.
    other = tmp_path / "other.toml"
    other.write_bytes(source.read_bytes())
    assert "was called 'deployment.toml'" in " ".join(verify(path, deployment=other).left)
    _, content = issued("crowd")
    path.write_text(json.dumps(content))
    for said in ("2.0 was wanted", "written alike"):
        assert said in " ".join(verify(path).left)


# ------------------------------------------------------------------------- every mechanism

TABLES = {name: entry.verified for name, entry in CATALOGUE.items() if entry.verified}
NOISE = {name for name, entry in CATALOGUE.items() if entry.verified_slowly}
MECHANISMS = [
    *(pytest.param(f'name = "{name}"\n{text}', id=f"{name}-{i}",
                   marks=[pytest.mark.long] * (name in NOISE))
      for name, texts in TABLES.items() for i, text in enumerate(texts)),
    *(pytest.param(text, id=name) for name, text in PROTOCOLS.items()),
]  # fmt: skip


def test_every_registered_name_is_here_or_refused():
    """A mechanism that is not in the catalogue's tables is one that files refuse."""
    for name in set(randomizer_names()) - set(TABLES):
        assert mechanism_class(name).dense
    assert set(TABLES) <= set(randomizer_names())


@pytest.mark.many(4)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_is_verified_and_its_better_ends_are_not(mechanism, tmp_path, monkeypatch):
    remember(monkeypatch)
    slow = any(f'"{name}"' in mechanism for name in NOISE)
    _, content = issued_of(one(mechanism, users="users = 60", rtol=1e-2 if slow else 1e-4))
    path = tmp_path / "certificate.json"
    assert not caught(outcome(content, path))
    for claim, forged in better(content, change=0.02):
        found = [c for c in outcome(forged, path) if c.claim.startswith(claim["end"])]
        assert any(c.verdict != "holds" for c in found), claim


@pytest.mark.long
@pytest.mark.parametrize("target", ["delta = 1e-6", "epsilon = 0.25"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_more_users_and_digits(tmp_path, mechanism, target):
    _, content = issued_of(one(mechanism, users="users = 2000", target=target, rtol=1e-3))
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    left = [c for c in verify(path) if c.verdict != "holds"]
    # delta of 1e-150 and less: the reason is the work it would take, and for this noise alone.
    assert not left or ("generalized-gaussian" in mechanism and target == "epsilon = 0.25")
    assert all(c.verdict == "undecided" for c in left)
    assert all("allowed" in c.how or "panels" in c.how for c in left)


@pytest.mark.parametrize("name", ["pi-rappor", "projective-geometry"])
def test_a_field_of_a_certificate_has_as_many_elements_as_there_are(tmp_path, name):
    """Of another field's numbers nothing is verified, and of no field's the number is refused."""
    _, content = issued_of(one(f'name = "{name}"\n{TABLES[name][1]}', users="users = 60"))
    assert content["deployment"]["content"]["randomizer"]["q"] == 5
    for q, refused in ((7, False), (4, True), (6, True), (1, True), (2**31, True)):
        content["deployment"]["content"]["randomizer"]["q"] = q
        found = outcome(resigned(content), tmp_path / "certificate.json")
        assert isinstance(found, str) is refused
        assert f"randomizer.q = {q}: wanted" in found if refused else caught(found)
