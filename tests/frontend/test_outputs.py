"""No output takes the place of an input, of another output, or of anything but a regular file.

Every output of every command meets every input of it, by every way in which two names can be one
file; the folder is compared byte for byte (and inode by inode) with what it was.
"""

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shuffledp.cli import main
from shuffledp.errors import ParameterError
from shuffledp.outputs import check, writing

DEPLOYMENT = """
title = "Letters"
[population]
users = 3000
[randomizer]
name = "k-rr"
k = 3
eps0 = 2.0
[target]
delta = 1e-6
[data]
column = "x"
"""
HASHED = DEPLOYMENT.replace('"k-rr"\nk = 3', '"olh"\ndomain = 64').replace(
    'column = "x"', 'column = "t"\nhashed = true'
)
# What stands in each command's place of a file: "{output}" the output that is tried.
RUN = ["run", "d.toml", "--input", "in.parquet"]
RUN_ALL = [*RUN, "--domain", "items.txt", "--plot", "f.png"]
RUN_HASHED = ["run", "h.toml", "--input", "in.parquet", "--domain", "items.txt"]
COMMANDS = {
    # name: words, outputs (option or None where the name follows from another), inputs
    "run": ([*RUN_ALL, "--output", "o.csv"], ["--output", "--reports", "--plot"],
            ["d.toml", "in.parquet", "items.txt"]),
    "run hashed": ([*RUN_HASHED, "--output", "o.csv"], ["--output", "--reports", "--plot"],
                   ["h.toml", "in.parquet", "items.txt"]),
    "estimate": (["run", "--from-reports", "r.parquet"], ["--output"], ["r.parquet"]),
    "estimate hashed": (["run", "--from-reports", "rh.parquet", "--domain", "items.txt"],
                        ["--output"], ["rh.parquet", "items.txt"]),
    "delta": (["delta", "channel", "--matrix", "matrix.csv", "-n", "100", "--curve", "0:1:2"],
              ["--plot"], ["matrix.csv"]),
    "delta parts": (["delta", "joint", "--randomizers", "parts.json", "-n", "100",
                     "--curve", "0:1:2"],
                    ["--plot"], ["parts.json"]),
}  # fmt: skip
WAYS = ("itself", "dotted", "symbolic link", "chain of links", "hard link", "linked folder")
# Options whose file's ending says what it is: the input is given that ending.
ENDING = {"--plot": ".png"}
PAIRS = [
    (name, option, source, way)
    for name, (_, options, inputs) in COMMANDS.items()
    for option in options
    for source in inputs
    for way in WAYS
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put_inputs()
    return tmp_path


def put_inputs():
    rng = np.random.default_rng(0)
    table = {"x": rng.integers(0, 3, 3000), "t": rng.choice(["a", "b", "c"], 3000)}
    pq.write_table(pa.table(table), "in.parquet")
    for name, text in {
        "d.toml": DEPLOYMENT, "h.toml": HASHED, "items.txt": "a\nb\nc\n",
        "matrix.csv": "0.6,0.4\n0.4,0.6\n",
        "parts.json": '[{"name": "binary-rr", "eps0": 1.0}, {"name": "binary-rr", "eps0": 1.0}]',
    }.items():  # fmt: skip
        Path(name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Report files, made once."""
    where = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        put_inputs()
        for words, name in ((RUN, "r"), (RUN_HASHED, "rh")):
            assert call(*words, "--output", f"{name}.csv", "--reports", f"{name}.parquet") == 0
    return where


@pytest.fixture
def reports(place, made):
    for name in ("r.parquet", "rh.parquet"):
        shutil.copy(made / name, place)
    return place


def call(*words):
    with pytest.raises(SystemExit) as stop:
        main.main(list(words))
    return stop.value.code


def snapshot(place):
    """Names, kinds, inodes, link targets and bytes of all there is."""
    found = {}
    for path in sorted(place.rglob("*")):
        state = path.lstat()
        content = None
        if stat.S_ISLNK(state.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        found[path] = (state.st_mode, state.st_ino, content)
    return found


def refused(capsys, place, words):
    before = snapshot(place)
    code = call(*words)
    message = capsys.readouterr().err
    assert code == 2, message
    assert message.count("\n") == 1, message
    assert snapshot(place) == before
    return message


def another_name(source, way):
    """Another name of the same file."""
    if way == "itself":
        return source
    if way == "dotted":
        return f"./../{Path.cwd().name}/./{source}"
    name = f"other{Path(source).suffix}"
    if way == "symbolic link":
        Path(name).symlink_to(source)
    elif way == "chain of links":
        Path("first").symlink_to(Path(source).absolute())
        Path(name).symlink_to("first")
    elif way == "hard link":
        os.link(source, name)
    else:
        Path("folder").symlink_to(Path.cwd(), target_is_directory=True)
        return f"folder/{source}"
    return name


def with_output(words, option, path):
    words = list(words)
    if option in words:
        words[words.index(option) + 1] = path
        return words
    return [*words, option, path]


@pytest.mark.parametrize(("name", "option", "source", "way"), PAIRS)
def test_every_output_against_every_input(name, option, source, way, place, capsys, request):
    words, _, _ = COMMANDS[name]
    if name.startswith("estimate"):
        request.getfixturevalue("reports")
    if option in ENDING:
        renamed = source.partition(".")[0] + ENDING[option]
        if source == "in.parquet":
            renamed = source  # its ending says what it is; the name of the figure is refused
        Path(source).rename(renamed)
        words = [renamed if word == source else word for word in words]
        source = renamed
    capsys.readouterr()
    path = another_name(source, way)
    message = refused(capsys, place, with_output(words, option, path))
    if Path(path).suffix == ".png" or option not in ENDING:
        assert "is read too" in message


@pytest.mark.parametrize("source", ["d", "in.parquet", "items"])
@pytest.mark.parametrize("way", WAYS)
def test_the_certificate_beside_the_table_is_an_output_too(source, way, place, capsys):
    """``--output x.csv`` also writes x.csv.certificate.json, which may be the name of an input."""
    old = {"d": "d.toml", "items": "items.txt"}.get(source, source)
    if old == "in.parquet":
        # DEPLOYMENT's reader goes by the ending; a link has its own name.
        Path("x.csv.certificate.json").symlink_to("in.parquet")
        refused(capsys, place, [*RUN_ALL, "--output", "x.csv"])
        return
    renamed = "x.csv.certificate.json"
    Path(old).rename(renamed)
    words = [renamed if word == old else word for word in RUN_ALL]
    given = another_name(renamed, way)
    if Path(given).parent == Path():
        output = "x.csv"
        if given != renamed:
            Path(given).rename("y.csv.certificate.json")
            output = "y.csv"
    else:
        output = str(Path(given).parent / "x.csv")
    assert "is read too" in refused(capsys, place, [*words, "--output", output])


def test_outputs_of_account(place, capsys):
    """A picture and a report are named by options."""
    Path("d.png").write_text(DEPLOYMENT, encoding="utf-8")
    assert "is read too" in refused(capsys, place, ["account", "d.png", "--plot", "d.png"])
    Path("d.md").symlink_to("d.png")
    assert "is read too" in refused(capsys, place, ["account", "d.png", "--report", "d.md"])


OUTPUTS = [
    *((name, option) for name, (_, options, _) in COMMANDS.items() for option in options),
    ("plan", "--plot"),
]
PLAN = ["plan", "frequencies", "--values", "2", "-n", "1000", "--delta", "1e-6", "--epsilon", "1"]
ODD = (
    *("directory", "fifo", "device", "socket", "loop", "link to a device", "two names"),
    *("no folder", "under a file", "empty", "ends in /", "stdout", "open file", "zero byte"),
)


def odd_place(kind, ending):
    name = f"odd{ending}"
    path = Path(name)
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(name)
    elif kind == "device":
        return "/dev/null"
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as it:
            it.bind(name)
    elif kind == "loop":
        path.symlink_to("second")
        Path("second").symlink_to(name)
    elif kind == "link to a device":
        path.symlink_to("/dev/null")
    elif kind == "two names":
        path.write_text("kept", encoding="utf-8")
        os.link(name, "another name")
    else:
        return {"no folder": f"no/{name}", "under a file": f"d.toml/{name}", "empty": "",
                "ends in /": "new/", "stdout": "/dev/stdout", "open file": "/dev/fd/0",
                "zero byte": f"a\0b{ending}"}[kind]  # fmt: skip
    return name


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(("name", "option"), OUTPUTS)
def test_only_regular_files_are_written(name, option, kind, place, capsys, request):
    words = PLAN if name == "plan" else COMMANDS[name][0]
    if name.startswith("estimate"):
        request.getfixturevalue("reports")
        capsys.readouterr()
    devices = {path: os.lstat(path) for path in ("/dev/null", "/dev/stdout", "/dev/stdin")}
    path = odd_place(kind, ENDING.get(option, ".out"))
    refused(capsys, place, with_output(words, option, path))
    for device, before in devices.items():
        after = os.lstat(device)
        assert (after.st_mode, after.st_ino, after.st_rdev) == (
            before.st_mode,
            before.st_ino,
            before.st_rdev,
        )


def test_two_outputs_of_one_name(place, capsys):
    Path("link.png").symlink_to("o.csv")
    for more in (
        ["--output", "o.csv", "--reports", "o.csv"],
        ["--output", "o.csv", "--reports", "./o.csv"],
        ["--output", "o.csv", "--plot", "link.png"],
        ["--output", "o.csv", "--reports", "o.csv.certificate.json"],
    ):
        assert "another name" in refused(capsys, place, [*RUN, *more])


def test_a_link_is_followed_and_stays(place):
    """What it points to is written, there or not; other links are left alone."""
    Path("there").mkdir()
    Path("o.csv").symlink_to("there/real.csv")
    Path("o.csv.certificate.json").symlink_to("second")
    Path("second").symlink_to("there/real.json")
    Path("there/real.csv").write_text("old", encoding="utf-8")
    assert call(*RUN, "--output", "o.csv") == 0
    assert Path("o.csv").readlink() == Path("there/real.csv")
    assert Path("there/real.csv").read_text(encoding="utf-8").startswith("item,")
    assert Path("there/real.json").read_text(encoding="utf-8").startswith("{")
    assert sorted(p.name for p in Path("there").iterdir()) == ["real.csv", "real.json"]


# ---------------------------------------------------------------------- the rule as a function


def test_a_folder_that_is_read_takes_no_output(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for path in (tmp_path / "in" / "o.csv", tmp_path / "in" / "deep" / "o.csv"):
        with pytest.raises(ParameterError, match="input folder"):
            check([("output", path)], inputs=[tmp_path / "in"])


def test_all_files_or_none_when_the_last_cannot_be_put(tmp_path):
    """A directory took the second name meanwhile: the first is what it was."""
    first, second, third = (tmp_path / name for name in ("a", "b", "c"))
    first.write_text("old", encoding="utf-8")

    def work():
        with writing([("one", first), ("three", third), ("two", second)]) as held:
            for path in (first, second, third):
                held.write(path, "new")
            second.mkdir()

    with pytest.raises(ParameterError, match="not an ordinary file"):
        work()
    assert first.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_a_killed_process_leaves_has_another_name(tmp_path):
    code = f"""
import os, signal
from shuffledp.outputs import writing
with writing([("one", {str(tmp_path / "a")!r})]) as held:
    held.write({str(tmp_path / "a")!r}, "half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "a").write_text("old", encoding="utf-8")
    subprocess.run([sys.executable, "-c", code], check=False)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert (left[0][:11], left[1:]) == (".shuffledp-", ["a"])
    assert (tmp_path / "a").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("ends", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_work_leaves_nothing(ends, tmp_path):

    def work():
        with writing([("one", tmp_path / "a"), ("two", tmp_path / "b")]) as held:
            held.write(tmp_path / "a", "new")
            raise ends

    with pytest.raises(ends):
        work()
    assert list(tmp_path.iterdir()) == []


def test_files_have_the_rights_of_new_files(tmp_path):
    (tmp_path / "new").touch()
    with writing([("one", tmp_path / "a")]) as held:
        held.write(tmp_path / "a", "x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "new").stat().st_mode


def test_the_files_that_are_in_their_places_already_are_named(tmp_path, monkeypatch):
    """The second file cannot be put in its place: each one that is there is whole."""

    def only_a(old, new):
        if new.name != "a":
            raise PermissionError(errno.EACCES, "Permission denied", str(new))
        return replace(old, new)

    def put_two():
        with writing([("output", place) for place in places]) as held:
            for place in places:
                held.write(place, "x")
            monkeypatch.setattr(Path, "replace", only_a)

    places, replace = [tmp_path / "a", tmp_path / "b"], Path.replace
    with pytest.raises(ParameterError, match=r"permission denied; written before: '.*/a'$"):
        put_two()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
