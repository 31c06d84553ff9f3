"""Entries for the public registry: what has none, and names of files.

Which fields there are ``snapshots/registry entry.txt`` shows.
"""

import hashlib

import pytest
from click.testing import CliRunner

from frontend.test_report import TABLE, certified, changed
from shuffledp import ParameterError
from shuffledp.cli import main
from shuffledp.deployment.text import deployment_text
from shuffledp.review.registry import check_file_name, registry_entry

pytestmark = pytest.mark.usefixtures("rough_proposals")


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
