"""What --help says of a parameter is what its own class says of it."""

import inspect
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.cli.mechanisms import by_task, mechanism_options, task_of
from shuffledp.mechanism.base import mechanism_class
from shuffledp.mechanism.parameters import parameters_of

NAMES = [*sd.randomizer_names(), *sd.protocol_names()]


def options(name, *, partial=False):
    return {option.name: option for option in mechanism_options(name, partial=partial)}


def words_of(cls):
    return {one.name: one.words for one in parameters_of(cls)}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_explained_by_its_own_class(name):
    cls = mechanism_class(name)
    documented = " ".join(inspect.getdoc(cls).replace("``", "").split())
    for partial in (False, True):
        found = options(name, partial=partial)
        for key in words_of(cls):
            words = found[key].help
            assert words, (name, key)
            assert (
                words.partition(" Here ")[0].partition(" With commas")[0].partition(" A file:")[0]
                in documented
            )


def test_parameters_of_the_same_name_say_what_each_is():
    assert "Dimension" in words_of(sd.GaussianBall)["d"]
    assert "Bins" in words_of(sd.BallsIntoBins)["d"]
    assert "Special bins" in words_of(sd.BallsIntoBins)["s"]
    assert "Probability that a dummy" in words_of(sd.PureDUMP)["rate"]
    assert "taking part" in words_of(sd.PoissonSubsample)["rate"]
    assert "Bias of the blanket bits" in words_of(sd.BalcerCheu)["p"]
    assert "interval" in words_of(sd.Laplace)["low"]
    assert words_of(sd.Laplace)["low"] == words_of(sd.Laplace)["high"]


GROUPS = {
    "k-rr": "Shares of items, one a user",
    "wheel": "Shares of items, a set a user",
    "laplace": "Means of numbers",
    "privunit": "Means of vectors",
    "joint": "Made of other mechanisms",
    "pure-dump": "Several messages a user (the shuffler is all they have)",
    "generic": "Any other",
}


def test_mechanisms_are_listed_by_task():
    for name, task in GROUPS.items():
        assert task_of(name) == task
    found = by_task([*NAMES, "generic"])
    assert [*found] == [*GROUPS.values()]
    listed = [name for names in found.values() for name in names]
    assert sorted(listed) == sorted([*NAMES, "generic"])
    shown = CliRunner().invoke(main, ["epsilon", "--help"]).stdout
    heads = [line[:-1] for line in shown.splitlines() if line[:-1] in found]
    assert heads == [*found]
    for name in [*NAMES, "generic"]:
        assert len(re.findall(rf"^  {name} ", shown, re.MULTILINE)) == 1
    rows = json.loads(CliRunner().invoke(main, ["list", "mechanisms", "--json"]).stdout)
    assert {row["name"]: row["task"] for row in rows}["wheel"] == GROUPS["wheel"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("acc", "account"),
        ("epsilon k", "k-rr"),
        ("epsilon k-rr --ep", "--eps0"),
    ],
)
def test_a_shell_completes_words(typed, wanted):
    asked = {
        "COMP_WORDS": f"shuffledp {typed}",
        "COMP_CWORD": str(typed.count(" ") + 1),
        "_SHUFFLEDP_COMPLETE": "bash_complete",
    }
    shown = CliRunner().invoke(main, [], prog_name="shuffledp", env=asked).stdout
    assert wanted in [line.partition(",")[2] for line in shown.splitlines()]


def test_required_and_optional_parameters():
    for name in NAMES:
        for key, _, default, _, _ in parameters_of(mechanism_class(name)):
            assert options(name)[key].required is (default is inspect.Parameter.empty)
            assert options(name, partial=True)[key].required is False
    shown = CliRunner().invoke(main, ["calibrate", "laplace", "--help"]).stdout
    assert "[default: 1.0]" in shown.replace("(1.0)", "1.0")


def test_the_statuses_of_signals_are_listed():
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    for text in (CliRunner().invoke(main, ["--help"]).stdout, guide):
        for words in ("130", "Ctrl-C", "143", "129"):
            assert words in text
