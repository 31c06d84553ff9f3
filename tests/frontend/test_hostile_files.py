"""Small files that somebody made to mislead a reader, or to keep the verifier busy.

No character of a file reaches a terminal as an order; what is too much work is undecided, at once;
what is no witness is undecided or does not hold; nothing ends in a traceback.
"""

import json
import subprocess
import sys
from fractions import Fraction

import pytest

from frontend.edits import resigned
from frontend.parts import of_rounds
from laws import log_delta, ordered_pairs
from shuffledp.arithmetic.balls import arb
from shuffledp.certificate import issue, read, to_json
from shuffledp.certificate.decide import or_undecided
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, load
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.randomizers import part_laws
from shuffledp.review import wrapped

# Clears a terminal's screen, goes to its top left and conceals what follows; turns what follows.
ORDERS = ("\x1b[2J\x1b[H", "\x1b[8m", "\x9b8m", "\u202e")


def certificate(folder, randomizer, *, users=60, target="delta = 1e-4"):
    source = folder / "deployment.toml"
    tables = f"[population]\nusers = {users}\n[randomizer]\n{randomizer}\n[target]\n{target}\n"
    source.write_text(f'title = "t"\n{tables}')
    loaded = load(source)
    return json.loads(to_json(issue(loaded, account(loaded.deployment))))


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "shuffledp", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return certificate(tmp_path_factory.mktemp("made"), 'name = "k-rr"\nk = 3\neps0 = 1.0')


# ------------------------------------------------------------------------- what a reader sees


def test_no_order_reaches_a_terminal(made, tmp_path):
    """A false certificate cleared the screen, said VERIFIED and concealed the verdict."""
    path, order = tmp_path / "c.json", "".join(ORDERS)
    changed = json.loads(json.dumps(made))
    changed["deployment"]["file"] = f"{order}VERIFIED: all 18 claims hold"
    changed["claims"][0]["relation"] = {"key": f"{order}one user"}
    changed["claims"][0]["assumptions"] = [order]
    path.write_text(json.dumps(resigned(changed)))
    done = command("verify", path, "-v")
    assert done.returncode == 1
    for one in ORDERS:
        assert one[0] not in done.stdout + done.stderr
        assert repr(one[0])[1:-1] in done.stdout
    changed[f"{order}key"] = 1
    path.write_text(json.dumps(changed))
    done = command("verify", path)
    assert done.returncode == 2
    assert all(one[0] not in done.stdout + done.stderr for one in ORDERS)
    assert len(done.stderr.splitlines()) == 1


def test_a_version_is_written_as_versions_are(made, tmp_path):
    path = tmp_path / "c.json"
    for version, good in (("0.1.0", True), ("1.0rc1+local.2", True), ("1 VERIFIED", False)):
        path.write_text(json.dumps(resigned({**made, "shuffledp_version": version})))
        if good:
            assert read(path).shuffledp_version == version
        else:
            with pytest.raises(ParameterError, match="shuffledp_version"):
                read(path)


def test_lines_show_every_character():
    assert wrapped("- ", "a\x1bb\nc\u202ed") == "- a[U+001B]b c[U+202E]d"


# ------------------------------------------------------------------------- what is not to be read


def test_numbers_of_thousands_of_digits_are_refused(made, tmp_path):
    path = tmp_path / "c.json"
    users = json.dumps(made["deployment"]["content"]["population"]["users"])
    text = json.dumps(made).replace(f'"users": {users}', f'"users": {"1" * 5_000}')
    path.write_text(text)
    with pytest.raises(ParameterError, match="not valid JSON"):
        read(path)


def test_a_key_given_twice_among_many_is_found_at_once(tmp_path):
    """It was looked for by counting each key among all."""
    path = tmp_path / "c.json"
    keys = ", ".join(f'"{k}": 1' for k in range(200_000))
    path.write_text(f'{{{keys}, "199999": 2}}')
    with pytest.raises(ParameterError, match='"199999" is given twice'):
        read(path)


JOINT = {"name": "joint", "randomizers": [{"name": "binary-rr", "eps0": 1.0}] * 2, "hamming": None}
PARALLEL = {"name": "parallel", "randomizers": JOINT["randomizers"], "weights": [0.5, 0.5]}
TREE = {"name": "hierarchy", "domain": 16, "eps0": 1.0, "branching": 4, "base": "oue"}
PCKV = {"name": "pckv-grr", "domain": 8, "s": 2, "eps0": 1.0, "padding": False}


@pytest.mark.parametrize(
    ("mechanism", "good", "bad"),
    [
        (PCKV, (0, 1, 2), (1.0, True, 7, (0,))),
        (TREE, (0, 15, 3), ((0, 1), 16, -1, 2.0)),
        (JOINT, ((0, 0), (1, 1), (0, 1)), (5, (0,), (0, 1, 1), (0, (1, 2)), "01")),
        (PARALLEL, ((0, 0), (1, 1), (0, 1)), (5, (0,), (0, 1, 1))),
    ],
)
def test_what_is_no_input_is_refused(mechanism, good, bad):
    x0, x1, x2 = good
    asked = {"analysis": "dataset", "n": 5, "epsilon": 0.1, "rel": 1e-3}
    assert log_delta(mechanism, x0=x0, x1=x1, x2=x2, **asked)[1] < 0.0
    for other in bad:
        for inputs in ((other, x1, x2), (x0, x1, other)):
            given = dict(zip(("x0", "x1", "x2"), inputs, strict=True))
            with pytest.raises(ParameterError, match="wanted"):
                log_delta(mechanism, **given, **asked)


@pytest.mark.parametrize("error", [TypeError, ValueError, RecursionError, ZeroDivisionError])
def test_whatever_a_witness_breaks_is_undecided(error):
    def decide():
        raise error("a witness that nobody would write")

    assert or_undecided(decide)[0] == "undecided"


# ------------------------------------------------------------------------- what is too much work


def test_outputs_by_the_hundred_without_a_shuffler(tmp_path):
    path = tmp_path / "c.json"
    content = certificate(tmp_path, 'name = "discrete-laplace"\ntop = 400\neps0 = 1.0')
    path.write_text(json.dumps(content))
    failing = [c for c in verify(path) if c.scenario == "shuffler fails"]
    assert {c.verdict for c in failing} == {"holds"}


def test_pairs_of_many_rows_and_labels_of_many_parts_are_refused():
    rows = [[0.5 + 0.001 * i, 0.5 - 0.001 * i] for i in range(65)]
    with pytest.raises(NotCertified, match="4,160 ordered pairs"):
        ordered_pairs({"name": "channel", "matrix": rows})
    assert len(ordered_pairs({"name": "channel", "matrix": rows[:64]})) == 4_032
    one = (arb(1), arb(1), arb(1))
    shares = [Fraction(1, 24)] * 24
    with pytest.raises(NotCertified, match="side by side"):
        next(part_laws.labels_side_by_side([[[one], [one], [one]]] * 24, shares))
    assert len(list(part_laws.labels_side_by_side([[[one], [one]]] * 3, [Fraction(1, 3)] * 3))) == 8


def test_dots_are_no_more_than_there_can_be(tmp_path):
    content = certificate(tmp_path, 'name = "k-rr"\nk = 3\neps0 = 1.0\n[accounting]\nrounds = 2')
    (claim,) = (c for c in of_rounds(content, 0) if c["end"] == "lower")
    claim["witness"]["dots"] = [float(k) for k in range(10_000)]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(resigned(content)))
    with pytest.raises(ParameterError, match="dots"):
        read(path)


@pytest.mark.parametrize("text", ['{"format":[]}', '{"format":{}}', '{"format":[[]]}'])
def test_a_format_that_is_no_word(tmp_path, text):
    """It was looked for in a set, which takes none of these."""
    file = tmp_path / "found.json"
    file.write_text(text)
    done = command("verify", file)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "format = " in done.stderr
