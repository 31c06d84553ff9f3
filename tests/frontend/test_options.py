"""Every command but the mechanism's own parameters has at most twelve options."""

import click
import pytest

from shuffledp.cli import main


@pytest.mark.parametrize("name", ["account", "verify", "run", "audit"])
def test_a_command_has_at_most_twelve_options(name):
    command = main.get_command(click.Context(main), name)
    assert len([one for one in command.params if isinstance(one, click.Option)]) <= 12
