"""Entries for the public registry: the certificate's numbers, and texts that stay texts.

Which fields there are ``snapshots/registry entry.txt`` shows.
"""

import hashlib
import json
import re
from fractions import Fraction

import pytest
from click.testing import CliRunner

from frontend.test_report import HOSTILE, TABLE, changed, tokens
from frontend.test_report import certified as of_table
from shuffledp import ParameterError
from shuffledp.certificate import to_json
from shuffledp.cli import main
from shuffledp.deployment.text import deployment_text
from shuffledp.review.registry import check_file_name, registry_entry

pytestmark = pytest.mark.usefixtures("rough_proposals")


def scalar(text):
    if text.startswith('"'):
        return json.loads(text)
    # A number of YAML 1.1, which wants a dot before an exponent and a sign in it.
    assert re.fullmatch(r"\d+(\.\d+(e[+-]\d+)?)?", text), text
    return Fraction(text)


def read(text):
    """The part of YAML that is written: tables, lists, quoted texts, blocks, comments."""
    lines = [line for line in text.split("\n") if line.strip() and not re.match(r" *# ", line)]
    found, at = table(lines, 0, 0)
    assert at == len(lines)
    return found


def table(lines, at, depth):
    found = {}
    while at < len(lines):
        line = lines[at]
        indent = len(line) - len(line.lstrip(" "))
        if indent < depth:
            break
        assert indent == depth, line
        match = re.fullmatch(r' *(\w+):(?: ("(?:[^"\\]|\\.)*"|[^#"\s]+))?(?:  # .*)?', line)
        assert match, line
        key, value = match.groups()
        assert key not in found
        at += 1
        if value == "|":
            start = at
            while at < len(lines) and lines[at].startswith(" " * (depth + 2)):
                at += 1
            found[key] = "\n".join(line[depth + 2 :] for line in lines[start:at]) + "\n"
        elif value is not None:
            found[key] = scalar(value)
        elif lines[at].strip().startswith("- "):
            items = []
            while at < len(lines) and lines[at].startswith(" " * (depth + 2) + "- "):
                items.append(scalar(lines[at].strip()[2:]))
                at += 1
            found[key] = items
        else:
            found[key], at = table(lines, at, depth + 2)
    return found, at


def certified(table):
    return of_table(table)[0]


def entry(table, **more):
    names = {"label": "a label", "certificate_file": "c.json", "certificate_sha256": "b" * 64}
    return registry_entry(certified(table), **{**names, **more})


def without(table):
    return {
        name: {k: v for k, v in part.items() if v is not None} if isinstance(part, dict) else part
        for name, part in table.items()
    }


CASES = {
    "epsilon": TABLE,
    "delta": without(changed(target={"delta": None, "epsilon": 0.7})),
    "rounds": changed(
        population={"users": 60, "minimum_batch": 30},
        randomizer={"name": "binary-rr"},
        accounting={"rounds": 2},
    ),
    "protocol": changed(randomizer={"name": "balcer-et-al", "blankets": 30}),
}
for key, name in (("k", "rounds"), ("k", "protocol"), ("eps0", "protocol")):
    del CASES[name]["randomizer"][key]


@pytest.mark.many(3)
@pytest.mark.parametrize("name", CASES)
def test_an_entry_has_the_certificates_numbers(name):
    text = entry(CASES[name])
    found = read(text)
    content = json.loads(to_json(certified(CASES[name])))
    rounds = content["deployment"]["content"]["accounting"]["rounds"]
    claims = [
        claim["value"]
        for claim in content["claims"]
        if claim["situation"] != "shuffler fails" and claim["rounds"] == rounds
        if claim["end"] == "upper" and claim["trust"] == "all"
    ]
    parameters = found["deployment"]["privacy_loss"]["privacy_parameters"]
    bounded, fixed = "epsilon", "delta"
    if content["claims"][0]["quantity"] == "delta":
        bounded, fixed = fixed, bounded
    assert float(parameters[fixed]) == content["claims"][0]["at"]
    # Outward, to the digits of the command line.
    assert max(claims) <= parameters[bounded] <= Fraction(max(claims)) * Fraction(1001, 1000)
    deployment = found["deployment"]
    assert deployment["deployment_model"]["model_name"] == "Shuffle"
    many = "Many releases" if rounds > 1 else "One release"
    assert deployment["deployment_model"]["release_type"] == many
    for words in certified(CASES[name]).members[0].assumptions:
        assert words in deployment["deployment_model"]["actors"]
    assert content["deployment"]["sha256"] in deployment["administrative"]["notes"]


def test_texts_stay_texts():
    plain = read(entry(changed(title="A: test # with - signs")))
    found = read(entry(changed(title=HOSTILE), label=HOSTILE, certificate_file=HOSTILE))
    assert plain["deployment"]["basic"]["name"] == r"A: test \# with - signs"
    assert plain["url_slug"] == "a-test-with-signs"
    assert re.fullmatch(r"[a-z0-9-]+", found["url_slug"])
    kinds = {token.type for token in tokens(found["deployment"]["basic"]["name"])}
    assert not {"html_inline", "link_open", "image", "em_open"} & kinds
    assert read(entry(changed(title="\u00e9\u4e2d")))["url_slug"] == "e"
    assert read(entry(changed(title="\u4e2d")))["url_slug"] == "deployment"


def test_nothing_finite_nothing_to_register():
    certificate = certified(TABLE)
    first, *rest = certificate.claims
    none = certificate.model_copy(
        update={"claims": [first.model_copy(update={"value": None, "theorem": []}), *rest]}
    )
    with pytest.raises(ParameterError, match="no finite upper end"):
        registry_entry(none, label="l", certificate_file="c", certificate_sha256="s")


def test_names_of_files_are_the_registrys():
    check_file_name("a_1.yaml", "out")
    for name in ("a-1.yaml", "A.yaml", "a.yml", ".yaml", "a b.yaml"):
        with pytest.raises(ParameterError, match="out = "):
            check_file_name(name, "out")


def test_account_writes_it_by_the_ending_of_a_report(tmp_path):
    path, out = tmp_path / "d.toml", tmp_path / "an_entry.yaml"
    path.write_text(deployment_text(TABLE), encoding="utf-8")
    args = ["account", path, "--output", tmp_path]
    done = CliRunner().invoke(main, [*map(str, args), "--report", str(out)])
    assert done.exit_code == 0, done.stderr
    text = out.read_text(encoding="utf-8")
    assert hashlib.sha256((tmp_path / "d.certificate.json").read_bytes()).hexdigest() in text
    assert "k-rr, k = 5, eps0 = 1" in text
    (tmp_path / "e.toml").write_bytes(path.read_bytes())
    for words in (["--report", "An-entry.yaml"], [str(tmp_path / "e.toml"), "--report", str(out)]):
        bad = CliRunner().invoke(main, [*map(str, args), *words])
        assert bad.exit_code == 2
        assert bad.stderr.count("\n") == 1
