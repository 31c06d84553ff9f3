"""What verifies in a browser is what `shuffledp verify` is: the same verdicts, without NumPy."""

import copy
import io
import json
import subprocess
import sys
import zipfile
from importlib.resources import files

import pytest

from frontend.edits import edits
from shuffledp.certificate import checksum, crowd_dict, issue, issue_crowd, to_json
from shuffledp.certificate.verifier import verify
from shuffledp.deployment import account, account_crowd, load, load_crowd
from shuffledp.errors import ParameterError, ShuffleDPError
from shuffledp.page.browser import mechanisms as stand_in
from shuffledp.page.bundle import bundle
from shuffledp.values.verdicts import headline

# Standard library, pydantic and python-flint are all there is in the browser.
ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
for name in ("numpy", "scipy", "click", "rich", "matplotlib", "tomli_w", "duckdb", "pyarrow"):
    sys.modules[name] = None
import json
from shuffledp.page.browser.driver import check
import shuffledp
assert shuffledp.__file__.startswith(sys.argv[1]), shuffledp.__file__
print(json.dumps([json.loads(check(path, lambda words: None)) for path in sys.argv[2:]]))
"""
TABLES = [
    'name = "k-rr"\nk = 4\neps0 = 1.0',
    'name = "generic"\neps0 = 0.5\nadaptive = true',
    'name = "channel"\nmatrix = [[0.75, 0.25], [0.25, 0.75]]',
    'name = "discrete-laplace"\ntop = 3\neps0 = 1.0',
    'name = "pure-dump"\nd = 3\nblankets = 4',
    'name = "wheel"\ndomain = 12\ns = 2\neps0 = 1.0',
    'name = "subset"\nd = 6\neps0 = 1.0',
    'name = "joint"\nrandomizers = [{name = "duchi", eps0 = 0.5}, {name = "duchi", eps0 = 1.0}]',
]


def certificate(folder, table):
    source = folder / "d.toml"
    source.write_text(
        f'title = "t"\n[population]\nusers = 40\nminimum_batch = 10\n[randomizer]\n{table}\n'
        "[target]\ndelta = 1e-4\n[accounting]\nrtol = 1e-3\n"
    )
    loaded = load(source)
    return json.loads(to_json(issue(loaded, account(loaded.deployment))))


def alone(folder, contents):
    """What the bundle says of each."""
    archive = folder / "bundle.zip"
    archive.write_bytes(bundle())
    paths = []
    for number, content in enumerate(contents):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content))
    words = [sys.executable, "-I", "-c", ALONE, str(archive), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(zip(paths, json.loads(done.stdout), strict=True))


def assert_no_better(path, found):
    """The same checks as the library's; what that refuses is never verified."""
    try:
        checks = verify(path)
    except ParameterError:
        assert found["status"] != "good", (path.read_text()[:2000], found)
        return
    assert found.get("checks") == [check.to_dict() for check in checks]
    assert found["headline"] == headline([check.verdict for check in checks])


def forged(content, subtree):
    """Copies with one thing changed, each with a checksum that is right."""
    for path, _, changed in edits(content):
        if list(path[: len(subtree)]) == subtree and path != tuple(subtree):
            changed["checksum"] = checksum(changed)
            yield changed


def test_verdicts_are_the_library_s(tmp_path):
    good = certificate(tmp_path, TABLES[0])
    low, open_ = copy.deepcopy(good), copy.deepcopy(good)
    low["scenarios"][0]["claims"][0]["value"] *= 0.99
    low["checksum"] = checksum(low)
    open_["title"] = "edited, checksum as it was"
    changed = copy.deepcopy(good)
    changed["privacy_unit"] = "one user's every report"
    odd = ["{", "[]", "null", '{"format": "shuffledp-certificate/1"}', "\ufffd", '{"a": NaN}']
    found = alone(tmp_path, [good, low, open_, changed, *odd])
    for path, reply in found:
        assert_no_better(path, reply)
    states = [reply["status"] for _, reply in found]
    assert states == ["good", "bad", "refused", "bad", *["refused"] * len(odd)]
    assert all("\n" not in reply["headline"] for _, reply in found)
    assert any("the mechanism's class" in words for words in found[0][1]["not_checked"])


def test_a_deployment_that_names_its_data(tmp_path):
    table = 'name = "binary-rr"\neps0 = 1.0\n[data]\ncolumn = "answer"\ndomain = ["no", "yes"]'
    ((path, reply),) = alone(tmp_path, [certificate(tmp_path, table)])
    assert_no_better(path, reply)
    assert reply["status"] == "good"
    assert any(words.startswith("the table data") for words in reply["not_checked"])


def test_a_crowd_is_verified_as_the_library_verifies_it(tmp_path):
    path = tmp_path / "crowd.toml"
    groups = "".join(
        f'[[group]]\nusers = 30\nrandomizer = {{ name = "binary-rr", eps0 = {eps0} }}\n'
        for eps0 in (1.0, 2.0)
    )
    path.write_text(f'title = "t"\n{groups}[target]\nepsilon = 0.5\n')
    source = load_crowd(path)
    good = crowd_dict(issue_crowd(source, account_crowd(source.deployment)))
    low = copy.deepcopy(good)
    low["members"][1]["scenarios"][0]["claims"][0]["value"] *= 0.5
    low["checksum"] = checksum(low)
    found = alone(tmp_path, [good, low])
    for path, reply in found:
        assert_no_better(path, reply)
    assert [reply["status"] for _, reply in found] == ["good", "bad"]
    assert any("written alike" in words for words in found[0][1]["not_checked"])


@pytest.mark.many(1)
@pytest.mark.parametrize("table", TABLES[:3])
def test_other_parameters_are_never_verified(tmp_path, table):
    good = certificate(tmp_path, table)
    changed = list(forged(good, ["deployment", "content", "randomizer"]))
    assert changed
    found = alone(tmp_path, [good, *changed])
    assert found[0][1]["status"] == "good"
    for path, reply in found:
        assert_no_better(path, reply)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_no_edit_of_a_deployment_is_verified_where_the_library_refuses(tmp_path, table):
    good = certificate(tmp_path, table)
    found = alone(tmp_path, [good, *forged(good, ["deployment"])])
    assert found[0][1]["status"] == "good"
    for path, reply in found:
        assert_no_better(path, reply)


def test_the_bundle_is_the_package_s_files_and_always_the_same_bytes():
    made = bundle()
    assert made == bundle()
    home = files("shuffledp")
    other = {
        "__init__.py",
        "certificate/__init__.py",
        "deployment/__init__.py",
        "deployment/mechanisms.py",
        "page/__init__.py",
    }
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = {name.removeprefix("shuffledp/") for name in archive.namelist()}
        assert other <= names
        assert {"ball/api.py", "certificate/verifier.py", "page/browser/driver.py"} <= names
        for name in names - other:
            assert archive.read(f"shuffledp/{name}") == (home / name).read_bytes()


def test_the_stand_in_has_what_is_asked_of_the_other():
    from shuffledp.deployment import mechanisms

    public = {
        "GENERIC",
        "mechanism_names",
        "is_protocol",
        "described",
        "accountant",
        "domain_fault",
    }
    for name in (*public, "declared"):
        assert hasattr(stand_in, name)
        assert hasattr(mechanisms, name)
    assert stand_in.GENERIC == mechanisms.GENERIC
    assert set(stand_in.mechanism_names()) <= set(mechanisms.mechanism_names())
    for table in (
        {"name": "k-rr", "k": 4},
        {"name": "k-rr", "k": 4, "eps0": float("inf")},
        {"name": "channel", "matrix": []},
        {"name": "joint", "randomizers": [{"name": "file"}], "hamming": None},
    ):
        with pytest.raises(ShuffleDPError):
            stand_in.described(table)
