"""Every field of every kind of certificate, changed one at a time: the verdict changes.

Or the field is on a short list: free text and what else ``verify`` prints as not checked, claims
that say less than before, and witnesses that prove the same number.
"""

import json
from collections import Counter
from dataclasses import replace

import pytest

from frontend.edits import at, caught, edits, outcome, place, remember, resigned
from frontend.test_verify_all import SLOW, TABLES
from multimessage.test_deployments import PROTOCOLS
from shuffledp.certificate import Release, issue, to_dict
from shuffledp.certificate.verifier import not_checked
from shuffledp.deployment import account, load
from shuffledp.protocol.run import seen

# Printed as not checked: whether the file says this. An edited setting of which every claim is true
# is another deployment's, which the file shows where it is given.
IN_THE_FILE = ("deployment.content", "deployment.sha256", "release")
PARAMETERS = "deployment.content.randomizer"
FREE = {
    "deployment.file",
    "shuffledp_version",
    "claims[].numerical_width",
    "release.table",
    "release.sha256",
    "release.nulls",
}
# Other datasets, other values of one round, or other free numbers of label stealing, from which the
# same number is proved again.
WITNESS = {
    f"claims[].witness.{x}"
    for x in ("x0", "x1", "x2", "x0[]", "x1[]", "x2[]", "swap", "member",
              *(f"free[].{key}" for key in ("alpha", "smoothing", "step", "share", "share[]",
                                            "join", "join[]", "ceiling")),
              "dots", "dots[]", "values", "values[]", "ends", "ends[]", "ends[][]", "ends[][][]")
}  # fmt: skip

DATA_TABLE = '[data]\ncolumn = "x"\ndomain = ["a", "b", "c", "d", "e"]\nnulls = "drop"\n'
JOINT = """name = "joint"
hamming = 1
randomizers = [{ name = "k-rr", k = 3, eps0 = 0.5 }, { name = "binary-rr", eps0 = 0.75 }]"""


def table(name, i=0):
    return f'name = "{name}"\n{TABLES[name][i]}'


# (randomizer, more of the file, target, whether it is of a run)
KINDS = {
    "one round": ('name = "k-rr"\nk = 5\neps0 = 2.0', DATA_TABLE, "delta = 1e-4", False),
    "a delta": ('name = "k-rr"\nk = 5\neps0 = 2.0', "", "epsilon = 0.7\nat_most = 0.1", False),
    "a run": ('name = "k-rr"\nk = 5\neps0 = 2.0', DATA_TABLE, "delta = 1e-4", True),
    "family": ('name = "generic"\neps0 = 1.0\nadaptive = true', "", "delta = 1e-4", False),
    "published": (table("duchi"), '[accounting]\ntrust = "published"', "delta = 1e-4", False),
    "joint": (JOINT, "", "delta = 1e-4", False),
    "stealing": (table("rappor"), "", "delta = 1e-4", False),
    "stealing, any": ('name = "generic"\neps0 = 1.0', "", "delta = 1e-4", False),
    "channel": (table("channel"), "", "epsilon = 0.5", False),
    "protocol": (PROTOCOLS["balcer-et-al"], "", "delta = 1e-5", False),
    "rounds": ('name = "binary-rr"\neps0 = 1.0', "[accounting]\nrounds = 2", "delta = 1e-4", False),
}
# What is changed in the ordinary tests: of one kind most, of others what they add to it.
UPPER, FIRST = ("claims.0.",), ("claims.0.", "claims.1.")
QUICK = {
    "one round": ("claims", *FIRST, "deployment", "checksum", "local", "shuffledp", "format"),
    "a delta": (*FIRST, "deployment.content.target"),
    "a run": ("release", "deployment.content.population"),
    "family": (*FIRST, PARAMETERS),
    "published": (*FIRST, PARAMETERS, "deployment.content.accounting"),
    "joint": (*FIRST, PARAMETERS),
    "stealing": FIRST,
    "stealing, any": FIRST,
    "protocol": (*FIRST, PARAMETERS),
    "rounds": ("claims.4.",),
}
LONG_KINDS = {
    **{f"{name} {i}": (table(name, i), "", "delta = 1e-4", False)
       for name, tables in TABLES.items() for i in range(len(tables))},
    **{f"{name}, {target}": (text, "", target, False)
       for name, text in PROTOCOLS.items() for target in ("delta = 1e-5", "epsilon = 0.6")},
}  # fmt: skip
# Of these each certificate takes seconds to verify, and has thousands of numbers: one edit a place.
IN_ROUNDS = {"rounds": KINDS["rounds"]} | {
    f"{name}, {target}": (table(name), "[accounting]\nrounds = 3", target, False)
    for name in ("k-rr", "channel", "staircase", "duchi", "joint")
    for target in ("delta = 1e-4", "epsilon = 1.5")
}


def made(folder, kind):
    randomizer, more, target, is_run = kind
    slow = any(f'name = "{name}"' in randomizer for name in SLOW)
    rtol = "1e-2" if slow else "1e-4"
    accounting = f"[accounting]\nrtol = {rtol}\n"
    more = (
        more.replace("[accounting]\n", accounting)
        if "[accounting]" in more
        else (accounting + more)
    )
    path = folder / "deployment.toml"
    path.write_text(
        'title = "A title"\n[population]\nusers = 70\nparticipation = 0.9\nminimum_batch = 30\n'
        "colluding = 0.02\n"
        f"[randomizer]\n{randomizer}\n[target]\n{target}\n{more}\n"
    )
    source, release = load(path), None
    if is_run:
        source = replace(source, deployment=seen(source.deployment, 55))
        release = Release(
            table="e.csv", sha256="0" * 64, users=55, declared_users=70, nulls=3, outside=0
        )
    return path, to_dict(issue(source, account(source.deployment), release=release))


def weaker(path, value, content):
    """Whether a number was moved outward: such a claim is true if the old one was."""
    if path == ("local_guarantees", 0):
        return isinstance(value, float) and value > at(content, path)
    if path[-1] not in {"value", "log"} or len(path) < 2:
        return False
    old, upper = at(content, path), at(content, path[:-1])["end"] == "upper"
    return isinstance(value, float) and (value > old if upper else value < old)


def beyond_the_cap(path, content):
    """Whether this is an infinite eps, of which no more than 300 nats are said: more is true."""
    claim = at(content, path[:-1])
    return path[-1] == "value" and claim["end"] == "lower" and claim["value"] > 299.0


def one_of_each_place(changed):
    """Of the edits of each place one: not always the first of its list."""
    places = {}
    for edit in changed:
        places.setdefault(place(edit[0]), []).append(edit)
    for i, found in enumerate(places.values()):
        yield found[i % len(found)]


def check_every_edit(folder, kind, *, only=("",), chosen=iter):
    """The chosen edits of one certificate; how many were tried, and where some were let through."""
    source, content = made(folder, kind)
    path = folder / "certificate.json"
    honest = outcome(content, path, deployment=source)
    assert not caught(honest), honest
    let = Counter()
    tried = 0
    for where, what, new in chosen(edits(content)):
        if not ".".join(map(str, where)).startswith(only):
            continue
        tried += 1
        forged = new if where[:1] == ("checksum",) else resigned(new)
        found = outcome(forged, path)
        if caught(found):
            continue
        spot = place(where)
        let[spot] += 1
        if weaker(where, what, content) or beyond_the_cap(where, content):
            continue
        if spot in WITNESS:
            # A proof that holds is one; what was recomputed is said.
            continue
        with_file = outcome(forged, path, deployment=source)
        if spot not in FREE:
            assert spot.startswith(IN_THE_FILE), (spot, what)
            assert caught(with_file), (spot, what)
    return tried, let


@pytest.mark.many(1)
@pytest.mark.parametrize("kind", QUICK)
def test_every_field_changed_alone(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    tried, _ = check_every_edit(tmp_path, KINDS[kind], only=QUICK[kind])
    assert tried > 70


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in (*KINDS, *LONG_KINDS) if kind != "rounds"])
def test_every_field_of_every_kind(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    tried, _ = check_every_edit(tmp_path, {**KINDS, **LONG_KINDS}[kind])
    assert tried > 300


@pytest.mark.long
@pytest.mark.parametrize("kind", IN_ROUNDS)
def test_every_place_of_rounds(kind, tmp_path, monkeypatch):
    remember(monkeypatch)
    tried, _ = check_every_edit(tmp_path, IN_ROUNDS[kind], chosen=one_of_each_place)
    assert tried > 80


def test_published_leaves_out_lower_ends_that_are_proved_here(tmp_path):
    """Of multi-message protocols; the certificate was refused by `verify`."""
    kind = (PROTOCOLS["pure-dump"], '[accounting]\ntrust = "published"', "delta = 1e-4", False)
    source, content = made(tmp_path, kind)
    assert not caught(outcome(content, tmp_path / "c.json", deployment=source))
    lower = [c for c in content["claims"] if c["end"] == "lower"]
    assert {(c["value"], c["trust"]) for c in lower} == {(0.0, "published")}


def test_what_is_not_checked_is_said(tmp_path):
    source, content = made(tmp_path, KINDS["a run"])
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    words = " ".join(not_checked(path))
    for said in ("A title", "deployment.toml", "rtol", "table data", "widths", "55 users", "e.csv"):
        assert said in words
    left = " ".join(not_checked(path, deployment=source, table_hash="0" * 64))
    for said in ("A title", "deployment.toml", "rtol", "table data", "declared"):
        assert said not in left
    assert "called 'e.csv': bytes" in left
    assert f"{content['release']['declared_users']:,} users were declared" in words
    # Of a copy by another name the bytes are the same, the name is not.
    other = source.with_name("other.toml")
    other.write_bytes(source.read_bytes())
    assert "was called 'deployment.toml'" in " ".join(not_checked(path, deployment=other))
