"""Certificates whose ends rest on a search of all data sets."""

import copy
import math

from frontend.edits import caught, outcome, resigned
from frontend.parts import of_round
from shuffledp.certificate import issue, to_dict
from shuffledp.deployment import account, load


def certificate_of(folder, name, fields, *, users, target, more=""):
    """Issued for one mechanism and target, as a dictionary."""
    source = folder / "deployment.toml"
    table = f'[randomizer]\nname = "{name}"\n{fields}\n'
    head = f'title = "t"\n[population]\nusers = {users}\n'
    source.write_text(f"{head}{table}[target]\n{target}\n[accounting]\nrtol = 1e-5\n{more}")
    found = load(source)
    return to_dict(issue(found, account(found.deployment)))


def ends(content):
    """Both ends of the first scenario."""
    return of_round(content, 0)[:2]


def honest_is_verified_and_better_is_not(content, path, *, change):
    """An upper end that is smaller, or a lower one that is larger, by a share does not hold."""
    assert not caught(outcome(content, path))
    for i, factor in ((0, 1.0 - change), (1, 1.0 + change)):
        forged = copy.deepcopy(content)
        claim = ends(forged)[i]
        claim["value"] *= factor
        if claim["log"] is not None:
            claim["log"] += math.log(factor)
        found = outcome(resigned(forged), path)
        assert any(c.verdict == "does not hold" for c in found)
