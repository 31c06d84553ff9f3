"""``shuffledp verify``: what it says and returns, and what is no certificate: one line, at once.

No character of a file reaches a terminal as an order; what is too much work is undecided; nothing
ends in a traceback.
"""

import json
import math
import re

import pytest
from click.testing import CliRunner

from frontend.certificates import issued
from frontend.edits import resigned
from shuffledp.certificate import verifier
from shuffledp.certificate.checks import Check
from shuffledp.certificate.verifier import verify
from shuffledp.cli import main
from shuffledp.review import wrapped

# Clears a terminal's screen, goes to its top left and conceals what follows; turns what follows.
ORDERS = ("\x1b[2J\x1b[H", "\x1b[8m", "\x9b8m", "\u202e")


def run(*args):
    return CliRunner().invoke(main, ["verify", *map(str, args)])


def written(folder, content):
    path = folder / "c.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def refused(path):
    """The line that refuses a file."""
    done = run(path)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    return done.stderr


@pytest.fixture
def honest(tmp_path):
    return written(tmp_path, issued("a delta")[1])


def test_what_it_says(honest):
    result = run(honest)
    assert result.exit_code == 0
    assert re.fullmatch(r".*c\.json: VERIFIED: all \d+ claims hold\n", result.stdout)
    listed = run(honest, "-v").stdout
    assert listed.startswith(result.stdout)
    assert "Theorems are cited, not proved again" in listed
    assert listed.count("  holds  ") == int(re.search(r"all (\d+)", listed)[1])
    checks = json.loads(run(honest, "--json").stdout)
    assert {c["verdict"] for c in checks} == {"holds"}


@pytest.mark.parametrize(
    ("verdict", "status", "said"),
    [("undecided", 3, "UNDECIDED"), ("does not hold", 1, "NOT VERIFIED")],
)
def test_its_status(honest, monkeypatch, verdict, status, said):
    def decided(claim, _, name):
        return Check(name, claim.end, verdict, "")

    monkeypatch.setattr(verifier, "check_claim", decided)
    result = run(honest)
    assert result.exit_code == status
    assert said in result.stdout


def test_the_deployment_file_is_compared(honest, tmp_path):
    toml, other = issued("a delta")[0], tmp_path / "o.toml"
    assert run(honest, "--deployment", toml).exit_code == 0
    other.write_text(toml.read_text() + "# changed\n")
    assert run(honest, "--deployment", other).exit_code == 1
    assert run(honest, "--deployment", tmp_path / "none.toml").exit_code == 2


def test_a_change_of_the_last_bit_is_seen_in_the_checksum(tmp_path):
    content = issued("a delta")[1]
    claim = content["claims"][0]
    claim["value"] = math.nextafter(claim["value"], 0.0)
    assert verify(written(tmp_path, content))[0].verdict == "does not hold"


# ------------------------------------------------------------------------- what is refused

REFUSED = {
    "format = 'x/2': wanted": lambda c: c.update(format="x/2"),
    "issue it again": lambda c: c.update(format="shuffledp-certificate/1"),
    "format = []": lambda c: c.update(format=[]),
    "format = {}": lambda c: c.update(format={}),
    "extra = 1: wanted no such key": lambda c: c.update(extra=1),
    "at is missing": lambda c: c["claims"][0].pop("at"),
    "claims[0].n = 0": lambda c: c["claims"][0].update(n=0),
    "claims[0].n = 2.5": lambda c: c["claims"][0].update(n=2.5),
    "claims[0].value = -1.0": lambda c: c["claims"][0].update(value=-1.0),
    "claims[0].value = '1'": lambda c: c["claims"][0].update(value="1"),
    "NaN": lambda c: c["claims"][0].update(value=math.nan),
    "'magic' is no theorem's id": lambda c: c["claims"][0].update(theorem=["magic"]),
    "population.users = 2.5": lambda c: c["deployment"]["content"]["population"].update(users=2.5),
    "shuffledp_version": lambda c: c.update(shuffledp_version="1 VERIFIED"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_a_certificate_is_refused_in_one_line(tmp_path, message):
    content = issued("a delta")[1]
    REFUSED[message](content)
    assert message in refused(written(tmp_path, content))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "wanted"),
        ('{"format": 1, "format": 2}', "given twice"),
        ('{"format": Infinity}', "Infinity"),
        ("[" * 100000, "not valid JSON"),
        (f'{{"users": {"1" * 5_000}}}', "not valid JSON"),
        # Among 200,000 keys the one that is given twice is found at once.
        (
            "{" + "".join(f'"{k}": 1, ' for k in range(200_000)) + '"199999": 2}',
            '"199999" is given',
        ),
    ],
    ids=range(7),
)
def test_files_that_are_not_even_json_objects(tmp_path, text, message):
    assert message in refused(written(tmp_path, text))


def test_no_order_reaches_a_terminal(tmp_path):
    """A false certificate cleared the screen, said VERIFIED and concealed the verdict."""
    order, content = "".join(ORDERS), issued("a delta")[1]
    content["deployment"]["file"] = f"{order}VERIFIED: all 18 claims hold"
    content["claims"][0]["relation"] = {"key": f"{order}one user"}
    content["claims"][0]["assumptions"][0][-1] = order
    done = run(written(tmp_path, resigned(content)), "-v")
    assert done.exit_code == 1
    for one_order in ORDERS:
        assert one_order[0] not in done.output
        assert repr(one_order[0])[1:-1] in done.stdout
    content[f"{order}key"] = 1
    said = refused(written(tmp_path, content))
    assert all(one_order[0] not in said for one_order in ORDERS)
    assert wrapped("- ", "a\x1bb\nc\u202ed") == "- a[U+001B]b c[U+202E]d"
