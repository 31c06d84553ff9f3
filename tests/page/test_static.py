"""The folder that verifies certificates: whole or not there, its parts the pinned ones."""

import base64
import dataclasses
import hashlib
import io
import json
import re
import tarfile
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.page import parts as pinned
from shuffledp.page import static
from shuffledp.page.bundle import bundle

OWN = ("index.html", "page.js", "chart.js", "verify.html", "verify.js", "worker.mjs", "page.css")


@pytest.fixture
def stand_ins(tmp_path, monkeypatch):
    """A folder with small files in place of the pinned ones, which are pinned in their place."""
    folder = tmp_path / "parts"
    folder.mkdir()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in (*static._OF_INTERPRETER, static._LOCK):
            data = b'{"info": {"python": "3.14"}, "packages": {"other": {}}}'
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))

    def stood(part, content):
        (folder / part.file).write_bytes(content)
        return dataclasses.replace(part, sha256=hashlib.sha256(content).hexdigest())

    interpreter = stood(pinned.INTERPRETER, packed.getvalue())
    wheels = tuple(stood(part, part.file.encode()) for part in pinned.WHEELS)
    for module in (pinned, static):
        monkeypatch.setattr(module, "INTERPRETER", interpreter)
        monkeypatch.setattr(module, "WHEELS", wheels)
        monkeypatch.setattr(module, "PARTS", (interpreter, *wheels))
    return folder


def test_the_folder_is_whole_and_says_its_hashes(tmp_path, stand_ins):
    site = tmp_path / "site"
    found = CliRunner().invoke(main, ["page", "--static", str(site), "--parts", str(stand_ins)])
    assert found.exit_code == 0, found.output
    written = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert f"wrote {site}: {len(written)} files" in found.stdout
    sums = dict(
        reversed(line.split("  ")) for line in (site / "SHA256SUMS").read_text().splitlines()
    )
    assert set(sums) == written - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((site / name).read_bytes()).hexdigest() == digest
    digest = base64.b64encode(hashlib.sha256(bundle()).digest()).decode()
    assert f'"sha256-{digest}"' in (site / "verify.js").read_text()
    assert (site / "shuffledp.zip").read_bytes() == bundle()
    lock = json.loads((site / "pyodide" / "pyodide-lock.json").read_text())
    assert lock["info"] == {"python": "3.14"}
    assert set(lock["packages"]) == {part.name for part in static.WHEELS}
    for part in static.WHEELS:
        assert lock["packages"][part.name]["sha256"] == part.sha256
        assert (site / "wheels" / part.file).is_file()


def test_what_the_packages_need_is_among_them():
    names = {part.name for part in pinned.WHEELS}
    for part in pinned.WHEELS:
        assert set(part.depends) <= names
        assert part.file.replace("_", "-").startswith(f"{part.name}-{part.version}-")
        assert re.fullmatch("[0-9a-f]{64}", part.sha256)


def test_help_and_guide_say_the_same_size():
    text = " ".join(CliRunner().invoke(main, ["page", "--help"]).stdout.split())
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    (section,) = (part for part in guide.split("\n## ") if "six wheels" in part)
    for said in (text, section):
        assert re.findall(r"([\d.]+) MB\b", said)[-1] == str(pinned.FOLDER_MEGABYTES)
    assert text.count(" MB") == 1


def test_a_part_that_is_missing_or_another_one_is_refused(tmp_path, stand_ins):
    site, wheel = tmp_path / "site", stand_ins / pinned.WHEELS[0].file
    whole = wheel.read_bytes()
    wheel.write_bytes(whole + b" ")
    with pytest.raises(ParameterError, match=r"sha256 [0-9a-f]{64}, wanted [0-9a-f]{64}"):
        static.build(site, parts=stand_ins)
    wheel.unlink()
    with pytest.raises(ParameterError, match="no such file; wanted annotated-types 0"):
        static.build(site, parts=stand_ins)
    assert not site.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_what_is_there_is_not_written_over(tmp_path, stand_ins):
    site = tmp_path / "site"
    site.mkdir()
    static.build(site, parts=stand_ins)  # empty: taken
    before = (site / "SHA256SUMS").read_bytes()
    file = tmp_path / "file"
    file.write_text("mine")
    for place in (site, file, tmp_path):
        found = CliRunner().invoke(
            main, ["page", "--static", str(place), "--parts", str(stand_ins)]
        )
        assert found.exit_code == 2
        assert found.stderr.startswith(f"shuffledp: static = '{place}': ")
        assert found.stderr.count("\n") == 1
    with pytest.raises(ParameterError, match="no such directory to make it in"):
        static.build(tmp_path / "a" / "b", parts=stand_ins)
    assert file.read_text() == "mine"
    assert (site / "SHA256SUMS").read_bytes() == before


def test_without_npm_it_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = CliRunner().invoke(main, ["page", "--static", str(tmp_path / "site")])
    assert found.exit_code == 2
    assert found.stderr.startswith("shuffledp: npm is not installed: wanted it, or --parts")
    assert "npm pack pyodide@" in found.stderr
    assert not (tmp_path / "site").exists()


def test_options_of_the_one_are_not_the_other_s(tmp_path):
    for words, start in (
        (["--parts", str(tmp_path)], "shuffledp: parts = "),
        (["--static", str(tmp_path / "site"), "--port", "0"], "shuffledp: port = 0"),
    ):
        found = CliRunner().invoke(main, ["page", *words])
        assert found.exit_code == 2
        assert found.stderr.startswith(start)


def test_pages_name_no_other_host_and_hold_no_script_of_their_own():
    for name in OWN:
        text = (files("shuffledp.page") / "files" / name).read_text(encoding="utf-8")
        hosts = set(re.findall(r"\b(?:https?|wss?)://[^\s\"'`)]*", text))
        assert hosts <= {"http://www.w3.org/2000/svg"}, name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|javascript:", text)
            assert re.findall(r'(?:src|href)="([^"]*)"', text)
        if name.endswith(".js"):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|\beval\b|Function\(", text
            )
            # A number that is shown is text from the library. Chart marks are exact powers.
            assert not re.search(r"toFixed|toLocaleString|toExponential|Math\.round", text)
    page = (files("shuffledp.page") / "files" / "verify.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; ")
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    assert "connect-src 'self'" in policy
