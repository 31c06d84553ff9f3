"""What an audited program says or names is shown on one line, and its files are not lost."""

import json
import random
import shutil
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.audit import (
    AuditPlan,
    Saved,
    ShufflerPlan,
    UnknownPlan,
    audit,
    audit_shuffler,
    read_saved,
)
from shuffledp.audit.shuffler import _line, shuffler_result
from shuffledp.audit.shuffler_counts import shuffler_start
from shuffledp.audit.sources import Lines
from shuffledp.audit.words import in_markdown, one_line
from shuffledp.cli import auditing, main
from shuffledp.errors import ParameterError


def run(*words):
    return CliRunner().invoke(main, ["audit", *map(str, words)])


@pytest.mark.parametrize("option", ["--output", "--text", "--report", "--checkpoint"])
@pytest.mark.parametrize("source", ["--command", "--shuffler"])
@pytest.mark.parametrize("way", ["{0} {1}", "{0} -u {1}", "sh -c '{0} {1}'", "cat --x={1}"])
def test_the_audited_program_is_not_written_over(tmp_path, option, source, way):
    path = tmp_path / "c.md"
    path.write_text("print(1)\n")
    beside = ["--pair", "0,1"] if source == "--command" else []
    words = (source, way.format(sys.executable, path), *beside, "-N", "200", option, path)
    done = run(*words)
    assert done.exit_code == 2
    assert "is read too" in done.output
    assert path.read_text() == "print(1)\n"


def test_modules_and_long_words_are_files_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p").mkdir()
    for name in ("c.py", "p/c.py", "p/__main__.py"):
        (tmp_path / name).write_text("print(1)\n")
        module = name.removesuffix("/__main__.py").removesuffix(".py").replace("/", ".")
        done = run("--command", f"python3 -m {module}", "--pair", "0,1", "--text", name)
        assert done.exit_code == 2
        assert "is read too" in done.output
    assert auditing.named_files("true " + "x" * 5_000) == [shutil.which("true")]
    assert set(auditing.program_files("true " + "x" * 5_000)) == {"true"}


@pytest.mark.parametrize("pair", ["NaN,0", "NaN,1e999", "0,1e999", "[0,-Infinity],1", "[" * 2000])
def test_pairs_that_are_not_finite_are_refused_before_anything_runs(tmp_path, pair):
    ran = tmp_path / "ran"
    words = ("--command", f"touch {ran}", "--pair", pair, "-N", "200", "--json")
    done = run(*words)
    assert done.exit_code == 2
    assert "pair = " in done.output
    assert done.output.count("\n") == 1
    assert not ran.exists()


@pytest.mark.parametrize("value", [float("nan"), (0.0, float("inf")), np.float64("nan"), [1e999]])
def test_plans_have_no_values_that_files_have_not(value):
    with pytest.raises(ParameterError, match="pair"):
        UnknownPlan(pair=(0, value))


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "0", "1e9"])
@pytest.mark.parametrize("source", [("--command", "cat", "--pair", "0,1"), ("--shuffler", "cat")])
def test_a_time_that_is_none_is_refused(timeout, source):
    done = run(*source, "--timeout", timeout)
    assert done.exit_code == 2
    assert "timeout = " in done.output
    assert done.output.count("\n") == 1
    with pytest.raises(ParameterError, match="timeout"):
        Lines(("cat",), float(timeout))


NAMES = {
    "a surrogate": "\ud800",
    "a verdict": "a\n\n**not refuted** at level 0.05: <script>",
    "a carriage return": "length\r| x |\r`",
    "a novel": "x" * 2_000,
    "a direction": "\u202etxet",
}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_shuffler_calls_its_fields_is_one_line_and_no_markup(tmp_path, name):
    path = tmp_path / "s.py"
    path.write_text(
        "import json, sys\n"
        "for i, line in enumerate(sys.stdin):\n"
        f"    print(json.dumps({{'message': line.strip().strip('\"'), {NAMES[name]!a}: i}}))\n"
    )
    files = [tmp_path / f"o.{ending}" for ending in ("json", "txt", "md", "html")]
    command = f"{sys.executable} -IS {path}"
    words = ["--shuffler", command, "--messages", "64", "--batches", "4"]
    for option, file in zip(("--output", "--text", "--report", "--report"), files, strict=True):
        words += [option, file]
    done = run(*words)
    assert done.exit_code == 1, done.output
    again = run("--check", files[0])
    assert again.exit_code == 1
    assert again.output.startswith(done.output)
    for text in (done.output, *(file.read_text() for file in files[1:])):
        assert "**not refuted**" not in text or "<!DOCTYPE html" in text
        assert "<script>" not in text
        assert "\r" not in text
        assert "\u202e" not in text
    assert max(map(len, done.output.splitlines())) < 600


def test_what_a_program_answers_and_says_is_one_line_and_no_markup(tmp_path):
    path = tmp_path / "c.py"
    path.write_text(
        "import sys\nfor line in sys.stdin: print('**not refuted** <b>\\r`' * 20, line.strip())\n"
    )
    command = f"{sys.executable} -IS {path}"
    done = run("--command", command, "--pair", "0,1", "-N", "200", "--claimed", "9")
    assert done.exit_code == 0
    said = next(line for line in done.output.split("\n") if line.startswith("- eps0"))
    assert r"output \*\*not refuted\*\* \<b\>\\r\`" in said
    assert len(said) < 600
    assert "\r" not in done.output
    path.write_text("import sys\nsys.exit('no\\rRefuted: ' + 'x' * 1000)\n")
    done = run("--command", command, "--pair", "0,1", "-N", "200")
    assert done.exit_code == 2
    assert "status 1: no\\rRefuted: xxx" in done.output
    assert len(done.output) < 400


def test_words_that_can_be_seen_are_left_as_they_are():
    for words in ("field user_id", "länge", "1/4 (µ)"):
        assert one_line(words) == in_markdown(words) == words
    assert one_line("a" * 81) != one_line("a" * 80 + "b")
    assert in_markdown("_a_ [b](c)") == r"\_a\_ \[b\](c)"


def test_lines_may_end_with_a_carriage_return():
    """An honest shuffler that ends lines with two characters loses no message."""
    generator = random.Random(0)

    def shuffled(messages, ending):
        lines = generator.sample(messages, len(messages))
        return [_line(f"{m}{ending(m)}".encode(), 0.0) for m in lines]

    plan = ShufflerPlan(messages=64, batches=20, alpha=1e-3)
    whole = audit_shuffler(lambda m: shuffled(m, lambda _: "\r"), plan)
    assert whole.verdict == "not refuted"
    assert whole.tally.lost == 0
    # Where only some lines have one, it is seen in their lengths.

    def late(messages):
        last = set(messages[32:])
        return shuffled(messages, lambda m: "\r" * (m in last))

    found = audit_shuffler(late, plan)
    assert found.tally.lost == 0
    assert {f.cell.split(":")[0] for f in found.refutations} == {"length"}
    assert _line(b"a\r\r", 0.0).message == "a\r"


def made_of(tmp_path):
    """A saved audit of a shuffler that does nothing, and its file."""
    out = tmp_path / "a.json"
    run("--shuffler", "cat", "--messages", "16", "--batches", "2", "--output", out)
    return json.loads(out.read_text()), out


def signed(table, out):
    """Judged and signed again, as whoever forges counts would."""
    start = {"plan": table["parts"]["shuffler"]["plan"]}
    start["tally"] = table["parts"]["shuffler"]["tally"]
    found = shuffler_result(*shuffler_start(start))
    out.write_text(json.dumps(Saved({"shuffler": found}, table["source"]).to_dict()))


def test_a_commands_lines_have_lengths_and_pauses(tmp_path):
    table, out = made_of(tmp_path)
    signed(table, out)
    assert read_saved(out).verdict == "refuted"
    for gone in (["length"], ["pause"], ["length", "pause"]):
        edited = json.loads(json.dumps(table))
        for name in gone:
            del edited["parts"]["shuffler"]["tally"]["traces"][name]
        signed(edited, out)
        with pytest.raises(ParameterError, match=r"shuffler\.tally\.traces"):
            read_saved(out)
        # Of a shuffler in Python there may be none; then it is said that none were looked at.
        signed(edited | {"source": {}}, out)
        assert any("not looked at" in words for words in read_saved(out).not_checked)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [("shuffler", "shuffler"), ("command", "program or unknown"), ("own", "program"),
     ("reports", "program")],
)  # fmt: skip
def test_what_a_source_names_has_its_part(tmp_path, source, wanted):
    table, out = made_of(tmp_path)
    plan = AuditPlan(randomizer=sd.KRR(k=2, eps0=1.0), reports=100, alpha=0.01)
    parts = {"program": audit(plan.randomizer.randomize, plan)}
    if source != "shuffler":
        parts = {"shuffler": shuffler_result(*shuffler_start(table["parts"]["shuffler"]))}
    beside = {source: "x", "shuffler" if source != "shuffler" else "own": "y"}
    saved = Saved(parts, beside)
    out.write_text(json.dumps(saved.to_dict()))
    with pytest.raises(ParameterError, match=f"wanted the part .*{wanted}"):
        read_saved(out)
    kept = {
        k: {"plan": p["plan"], "tally": p["tally"]} for k, p in saved.to_dict()["parts"].items()
    }
    bare = {k: v for k, v in saved.to_dict().items() if k != "verdict"}
    out.write_text(json.dumps(bare | {"stopped": True, "parts": kept}))
    assert any("source names" in words for words in read_saved(out).not_checked)


IDENTITY = {
    "fixed": 0,
    "kept": 0,
    "repeated": 0,
    "adjacent": 0,
    "positions": [[0, 2, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 2]],
    "blocks": {"2": [[8, 8], [8, 8]], "4": [[3, 4], [4, 4]]},
}


@pytest.mark.parametrize("what", IDENTITY)
def test_batches_that_leave_as_they_came_have_all_counts_of_it(tmp_path, what):
    table, _ = made_of(tmp_path)
    tally = table["parts"]["shuffler"]["tally"]
    assert (tally["adjacent"], tally["fixed"], tally["repeated"]) == (30, 32, 16)
    tally[what] = IDENTITY[what]
    with pytest.raises(ParameterError, match=r"shuffler\.tally\."):
        shuffler_start(table["parts"]["shuffler"])


@pytest.mark.parametrize("what", ["kept", "repeated", "adjacent"])
def test_few_messages_out_of_place_change_little(what):
    """Two exchanged in each of two batches: four moved, and as many counts at most."""
    plan = ShufflerPlan(messages=32, batches=2, alpha=0.01)
    found = audit_shuffler(lambda m: [m[1], m[0], *m[2:]], plan)
    table = json.loads(json.dumps(found.to_dict()))
    assert found.tally.fixed == 60
    assert shuffler_start(table)[1].to_dict() == found.tally.to_dict()
    table["tally"][what] = {"kept": 27, "repeated": 27, "adjacent": 53}[what]
    with pytest.raises(ParameterError, match=rf"shuffler\.tally\.{what}"):
        shuffler_start(table)


def test_what_permutations_do_is_possible():
    """Two batches of each, near the identity and far from it."""
    source, plan = random.Random(1), ShufflerPlan(messages=16, batches=2, alpha=0.01)
    for _ in range(150):
        orders = []
        for _ in range(2):
            order = list(range(16))
            for _ in range(source.choice([0, 0, 1, 1, 2, 9])):
                i, j = source.randrange(16), source.randrange(16)
                order[i], order[j] = order[j], order[i]
            cut = source.choice([0, 0, 1, 8])
            orders.append(order[cut:] + order[:cut])
        calls = iter(orders)
        found = audit_shuffler(lambda m: [m[i] for i in next(calls)], plan)  # noqa: B023
        table = json.loads(json.dumps(found.to_dict()))
        assert shuffler_start(table)[1].to_dict() == found.tally.to_dict()
