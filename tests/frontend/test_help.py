"""What --help says of a parameter is what its own class says of it."""

import inspect

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.cli.mechanisms import mechanism_class, parameter_help, parameter_types

NAMES = [*sd.randomizer_names(), *sd.protocol_names()]


def options(command, name):
    return {option.name: option for option in main.commands[command].commands[name].params}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_is_explained_by_its_own_class(name):
    cls = mechanism_class(name)
    documented = " ".join(inspect.getdoc(cls).replace("``", "").split())
    for command in ("epsilon", "calibrate", "curve"):
        found = options(command, name)
        for key in parameter_types(cls):
            words = found[key].help
            assert words, (name, key)
            assert (
                words.partition(" Here ")[0].partition(" With commas")[0].partition(" A file:")[0]
                in documented
            )


def test_parameters_of_the_same_name_say_what_each_is():
    assert "Dimension" in parameter_help(sd.GaussianBall)["d"]
    assert "Bins" in parameter_help(sd.BallsIntoBins)["d"]
    assert "Special bins" in parameter_help(sd.BallsIntoBins)["s"]
    assert "Probability that a dummy" in parameter_help(sd.PureDUMP)["rate"]
    assert "taking part" in parameter_help(sd.PoissonSubsample)["rate"]
    assert "Bias of the blanket bits" in parameter_help(sd.BalcerCheu)["p"]
    assert "interval" in parameter_help(sd.Laplace)["low"]
    assert parameter_help(sd.Laplace)["low"] == parameter_help(sd.Laplace)["high"]


def test_required_and_optional_parameters():
    for name in NAMES:
        for key, (_, default) in parameter_types(mechanism_class(name)).items():
            assert options("epsilon", name)[key].required is (default is inspect.Parameter.empty)
            assert options("calibrate", name)[key].required is False
    shown = CliRunner().invoke(main, ["calibrate", "laplace", "--help"]).stdout
    assert "[default: 1.0]" in shown.replace("(1.0)", "1.0")
