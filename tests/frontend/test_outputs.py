"""No output takes the place of an input, of another output, or of anything but a regular file.

Every output of every command meets every input of it, by every way in which two names can be one
file; the folder is compared byte for byte (and inode by inode) with what it was.
"""

import os
import stat
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
# What stands in each command's place of a file: "{output}" the output that is tried.
RUN = ["run", "d.toml", "--input", "in.parquet"]
RUN_ALL = [*RUN, "--domain", "items.txt", "--plot", "f.png"]
COMMANDS = {
    # name: words, outputs (option or None where the name follows from another), inputs
    "run": ([*RUN_ALL, "--output", "o.csv"], ["--output", "--reports", "--plot"],
            ["d.toml", "in.parquet", "items.txt"]),
    "estimate": (["run", "--from-reports", "r.parquet"], ["--output"], ["r.parquet"]),
    "delta": (["delta", "channel", "--matrix", "matrix.csv", "-n", "100", "--curve", "0:1:2"],
              ["--plot"], ["matrix.csv"]),
}  # fmt: skip
WAYS = ("itself", "chain of links", "another name", "linked folder")
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
    pq.write_table(pa.table({"x": rng.integers(0, 3, 3000)}), "in.parquet")
    files = {"d.toml": DEPLOYMENT, "items.txt": "a\nb\nc\n", "matrix.csv": "0.6,0.4\n0.4,0.6\n"}
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")


@pytest.fixture
def reports(place):
    assert call(*RUN, "--output", "made.csv", "--reports", "r.parquet") == 0


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
    name = f"other{Path(source).suffix}"
    if way == "chain of links":
        Path("first").symlink_to(Path(source).absolute())
        Path(name).symlink_to("first")
    elif way == "another name":
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


@pytest.mark.many(16)
@pytest.mark.parametrize(("name", "option", "source", "way"), PAIRS)
def test_every_output_against_every_input(name, option, source, way, place, capsys, request):
    words, _, _ = COMMANDS[name]
    if name == "estimate":
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


OUTPUTS = [("run", "--output"), ("run", "--plot"), ("plan", "--plot")]
PLAN = ["plan", "frequencies", "--values", "2", "-n", "1000", "--delta", "1e-6", "--epsilon", "1"]
ODD = (
    *("directory", "fifo", "device", "loop", "link to a device"),
    *("no folder", "under a file", "empty", "stdout", "zero byte"),
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
    elif kind == "loop":
        path.symlink_to("second")
        Path("second").symlink_to(name)
    elif kind == "link to a device":
        path.symlink_to("/dev/null")
    else:
        return {"no folder": f"no/{name}", "under a file": f"d.toml/{name}", "empty": "",
                "stdout": "/dev/stdout", "zero byte": f"a\0b{ending}"}[kind]  # fmt: skip
    return name


@pytest.mark.many(14)
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(("name", "option"), OUTPUTS)
def test_only_regular_files_are_written(name, option, kind, place, capsys):
    words = PLAN if name == "plan" else COMMANDS[name][0]
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


@pytest.mark.parametrize("ends", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_work_leaves_nothing(ends, tmp_path):

    def work():
        with writing([("one", tmp_path / "a"), ("two", tmp_path / "b")]) as held:
            held.write(tmp_path / "a", "new")
            raise ends

    with pytest.raises(ends):
        work()
    assert list(tmp_path.iterdir()) == []
