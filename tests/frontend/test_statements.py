"""The verifier's own tables of words against what the modules say that write certificates.

A mechanism with another worst pair, another parameter or relation, an assumption that is worded
anew: each has to be changed in both places. Theorems stand in one table.
"""

import inspect

import pytest

import shuffledp as sd
from frontend.test_verify_all import TABLES
from multimessage.test_deployments import PROTOCOLS
from shuffledp import theorems
from shuffledp.amplification.analyses import analysis_named
from shuffledp.amplification.best import Best
from shuffledp.amplification.rounds import NO_SINGLE_PAIR
from shuffledp.ball.assumptions import allowed_assumptions, relation_of
from shuffledp.ball.parameters import check_parameters, parameters_of
from shuffledp.ball.statements import lower_statement, upper_statement
from shuffledp.deployment.files import parse, tomllib
from shuffledp.multimessage import protocol_class, protocol_names
from shuffledp.randomizers import randomizer_class

NESTED = """name = "parallel"
weights = [0.25, 0.5, 0.25]
[[randomizer.randomizers]]
name = "k-rr"
k = 3
eps0 = 1.0
[[randomizer.randomizers]]
name = "joint"
hamming = 1
randomizers = [{ name = "binary-rr", eps0 = 1.0 }, { name = "k-rr", k = 3, eps0 = 1.0 }]
[[randomizer.randomizers]]
name = "binary-rr"
eps0 = 1.0"""
LIMITED = (
    'name = "joint"\nhamming = 1\nrandomizers = [{ name = "binary-rr", eps0 = 1.0 }, '
    '{ name = "k-rr", k = 3, eps0 = 1.0 }]'
)
SAMPLED = f'rate = 0.5\nname = "poisson-subsample"\n[randomizer.randomizer]\n{LIMITED}'
TEXTS = {
    **{f"{name} {i}": f'name = "{name}"\n{table}'
       for name, tables in TABLES.items() for i, table in enumerate(tables)},
    **PROTOCOLS,
    "hadamard of singletons": 'name = "hadamard-response"\ndomain = 4\neps0 = 1.0\nblocks = 4',
    "generic": 'name = "generic"\neps0 = 1.0',
    "adaptive": 'name = "generic"\neps0 = 1.0\nadaptive = true',
    "limited": LIMITED,
    "limited inside": NESTED,
    "limited and sampled": SAMPLED,
}  # fmt: skip
UPPER = ("blanket", "stronger-clone", "clone", "multi-message")
# Registered, and not known to the verifier: their certificates are undecided.
UNKNOWN = {"gaussian-ball", "laplace-ball", "metric-laplace"}


def deployment(text, rounds=1):
    head = (
        f"title = 't'\npopulation.users = 50\ntarget.delta = 1e-3\naccounting.rounds = {rounds}\n"
    )
    return parse(tomllib.loads(f"{head}[randomizer]\n{text}\n"), where="test")


def all_randomizers():
    return pytest.mark.parametrize("kind", TEXTS)


def applies(source, key):
    try:
        analysis_named(key).make(source, 50)
    except sd.NotCertified:
        return False
    return True


@all_randomizers()
def test_parameters_are_those_of_the_class(kind):
    described = deployment(TEXTS[kind]).randomizer
    check_parameters(described)
    name = described["name"]
    if name == "generic":
        return
    cls = protocol_class(name) if name in protocol_names() else randomizer_class(name)
    assert set(parameters_of(name)) == set(inspect.signature(cls).parameters)
    for key in parameters_of(name):
        with pytest.raises(sd.ParameterError, match=f"{key} is missing"):
            check_parameters({k: v for k, v in described.items() if k != key})
    with pytest.raises(sd.ParameterError, match="no such parameter"):
        check_parameters({**described, "more": 1})


def test_every_registered_mechanism_is_here():
    known = {deployment(text).randomizer["name"] for text in TEXTS.values()}
    assert {*sd.randomizer_names(), *protocol_names(), "generic"} - known == UNKNOWN
    for name in UNKNOWN:
        with pytest.raises(sd.NotCertified, match="does not know"):
            parameters_of(name)


@all_randomizers()
@pytest.mark.parametrize("key", UPPER)
def test_upper_ends_say_the_same(kind, key):
    """Title, source, provenance and assumptions, after one round and after several."""
    text = TEXTS[kind]
    given = deployment(text)
    source, described = given.accountant(50).source, given.randomizer
    found = upper_statement(described, key)
    if not applies(source, key):
        # The verifier finds out from numbers that there is no local guarantee.
        assert found is None or "clone" in key
        return
    theorem = analysis_named(key).make(source, 50).theorem
    assert found.to_dict() == theorem.to_dict()
    assert allowed_assumptions(described, key) == (
        analysis_named(key).make(source, 50).assumptions,
    )
    for step, last in ((theorems.COMPOSITION, "composition"), (theorems.BASIC, "basic")):
        joined = upper_statement(described, key, last=last)
        assert joined.to_dict() == theorem.with_step(step).to_dict()


@all_randomizers()
def test_lower_ends_and_relations_say_the_same(kind):
    given = deployment(TEXTS[kind])
    source, described = given.accountant(50).source, given.randomizer
    theorem = analysis_named("dataset").make(source, 50).theorem
    assert lower_statement(described).to_dict() == theorem.to_dict()
    composed = theorem.with_step(theorems.REPETITION)
    assert lower_statement(described, last="repetition").to_dict() == composed.to_dict()
    assert relation_of(described) == (source.relation.to_dict(), source.relation.sentence)


@all_randomizers()
def test_local_guarantees_say_the_same(kind):
    given = deployment(TEXTS[kind])
    one = given.accountant(50)
    described = given.randomizer
    local = Best(one.source, 50, rtol=one.rtol, trust=one.trust).local(1.0, None)
    assert upper_statement(described, "local").to_dict() == local.theorem.to_dict()
    assert upper_statement(described, "local", last="composition").to_dict() == (
        theorems.LOCAL.to_dict()
    )
    basic = theorems.LOCAL.with_step(theorems.BASIC)
    assert upper_statement(described, "local", last="basic").to_dict() == basic.to_dict()
    assert allowed_assumptions(described, "local") == (local.assumptions,)


@pytest.mark.parametrize("trust", ["all", "published"])
@pytest.mark.parametrize("kind", ["k-rr 0", "channel 0", "duchi 0", "adaptive", "limited"])
def test_rounds_say_the_same(kind, trust):
    given = deployment(TEXTS[kind], rounds=1234)
    # What certificates hold: the curves that their reader composes again.
    one = given.accountant(50, trust=trust).as_round(sharper=False)
    found = sd.compose([one], rounds=1234)
    theorem, words = found._upper_theorem(capped=False), found.assumptions()
    words = tuple(one for one in words if one != NO_SINGLE_PAIR)
    key = theorem.key
    assert upper_statement(given.randomizer, key, last="composition").to_dict() == theorem.to_dict()
    assert allowed_assumptions(given.randomizer, key, rounds=1234) == (words,)
    # The sum of the guarantees caps what was composed, and states the same.
    assert words in allowed_assumptions(given.randomizer, "local", rounds=1234)


def test_mechanisms_have_no_analysis_that_is_not_theirs():
    assert upper_statement({"name": "generic"}, "blanket") is None
    assert upper_statement({"name": "pure-dump"}, "clone") is None
    assert upper_statement({"name": "k-rr", "k": 3, "eps0": 1.0}, "multi-message") is None
    assert upper_statement({"name": "k-rr", "k": 3, "eps0": 1.0}, "dataset") is None
