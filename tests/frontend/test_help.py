"""What --help says of a parameter is what its own class says of it."""

import inspect

import click
import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.cli.mechanisms import mechanism_options
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


def test_the_list_of_commands_says_what_each_command_says_first():
    shown = " ".join(CliRunner().invoke(main, ["--help"], prog_name="shuffledp").stdout.split())
    for name, place in main.places.items():
        command = main.get_command(click.Context(main), name)
        assert command.get_short_help_str(limit=80) == place.line
        assert f"{name} {place.line}" in shown
