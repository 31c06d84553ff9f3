"""What a certificate's ids stand for is what the account says, in the words of one table."""

from pathlib import Path

import pytest

from frontend.test_certificates import TABLES
from multimessage.test_deployments import PROTOCOLS
from shuffledp.certificate import issue
from shuffledp.deployment import DeploymentFile, account
from shuffledp.deployment.files import parse, tomllib
from shuffledp.statements import SENTENCES, say

pytestmark = pytest.mark.usefixtures("rough_proposals")

LIMITED = (
    'name = "joint"\nhamming = 1\nrandomizers = [{ name = "binary-rr", eps0 = 1.0 }, '
    '{ name = "k-rr", k = 3, eps0 = 1.0 }]'
)
RANDOMIZERS = {
    **{
        name: f'name = "{name}"\n{TABLES[name][0]}'
        for name in ("k-rr", "channel", "duchi", "rappor")
    },
    "generic": 'name = "generic"\neps0 = 1.0',
    "adaptive": 'name = "generic"\neps0 = 1.0\nadaptive = true',
    "limited": LIMITED,
}


ROUNDS = "[accounting]\nrounds = 2\n"
SAID = {
    **{f"{kind}, {name}": (f"[randomizer]\n{RANDOMIZERS[kind]}\n{more}")
       for kind in ("k-rr", "channel", "duchi", "rappor", "limited")
       for name, more in (("one round", ""), ("rounds", ROUNDS))},
    "family": f"[randomizer]\n{RANDOMIZERS['generic']}\n{ROUNDS}",
    "adaptive": f"[randomizer]\n{RANDOMIZERS['adaptive']}\n{ROUNDS}",
    "protocol": f"[randomizer]\n{PROTOCOLS['pure-dump']}",
    "together": f"changed = 2\n[randomizer]\n{RANDOMIZERS['k-rr']}",
    "shuffler": f"[randomizer]\n{RANDOMIZERS['k-rr']}\n[shuffler]\nshards = 2\ndistance = 1e-9",
    "sums": f"view = 'sums'\n[randomizer]\n{RANDOMIZERS['rappor']}\n{ROUNDS}",
}  # fmt: skip


# Ten seconds and more each; of rounds "k-rr" and "sums" are kept.
SLOW = {"channel, rounds", "duchi, rounds", "rappor, rounds", "limited, rounds"}
SLOW |= {"adaptive", "family"}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.long] if kind in SLOW else []) for kind in SAID],
)
def test_a_certificate_says_what_the_account_says(kind):
    """Theorem and sentences of every end, from its ids, are those of the account's bound."""
    # Fake messages of 20 users hide no report at this delta.
    users = 200 if kind == "protocol" else 20
    head = f"title = 't'\npopulation.users = {users}\ntarget.delta = 1e-3\n"
    found = account(parse(tomllib.loads(head + SAID[kind]), where="test"))
    certificate = issue(DeploymentFile(Path("t.toml"), "a" * 64, found.deployment), found)
    checked = 0
    for claim in certificate.claims:
        answer = found.named(claim.situation, rounds=claim.rounds)
        own = claim.trust == found.deployment.accounting.trust
        bound = answer.bound if own else answer.published
        if claim.nothing:
            continue
        theorem = bound.upper_theorem if claim.end == "upper" else bound.lower_theorem
        assert claim.rests_on.to_dict() == theorem.to_dict()
        if claim.end == "upper":
            assert claim.words == bound.assumptions
        checked += 1
    assert checked >= 2


def test_every_sentence_is_in_the_table():
    for name in SENTENCES:
        assert say(name, *("1" if ":," not in SENTENCES[name] else 1 for _ in range(9))).id == name
