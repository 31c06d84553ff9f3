"""Counts in files: what a run of a plan can count is judged, what none can is refused."""

import contextlib
import copy
import itertools
import json
import random

import numpy as np
import pytest

import shuffledp as sd
from audit import programs
from objects.examples import example
from shuffledp.audit import (
    AuditPlan,
    EstimatesPlan,
    Left,
    Saved,
    ShufflerPlan,
    UnknownPlan,
    audit,
    audit_domain,
    audit_estimates,
    audit_shuffler,
    audit_unknown,
    collected,
    counted,
    read_saved,
    tally_from_dict,
)
from shuffledp.audit.blackbox import unknown_from_dict
from shuffledp.audit.estimates import estimates_from_dict
from shuffledp.audit.possible import asked_of, in_one_call
from shuffledp.audit.saved import digest_of
from shuffledp.audit.shuffler_counts import shuffler_start
from shuffledp.audit.tally import Written, near_and_far
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.randomizers import randomizer_names

K = sd.KRR(k=2, eps0=1.0)
PLAN = AuditPlan(randomizer=K, reports=150, alpha=0.01)
NOISE = AuditPlan(randomizer=sd.Laplace(eps0=1.0), reports=150, alpha=0.01)


def again(table):
    return json.loads(json.dumps(table))


# ------------------------------------------------------------------- what honest runs count


def spaced(program):
    """Every third report has a space more."""
    return lambda v: Written(program(v), np.arange(len(v)) % 3 % 2)


def sometimes(other):
    """In every third call something that is no number, or not finite."""
    calls, inner = itertools.count(), programs.honest(NOISE.randomizer)
    return lambda v: other(len(v)) if next(calls) % 3 == 1 else inner(v)


ODD = {
    "k-rr": (PLAN, programs.honest(K)),
    "spaces": (PLAN, spaced(programs.honest(K))),
    "noise": (NOISE, programs.honest(NOISE.randomizer)),
    "half precision": (NOISE, lambda v: programs.numpy_laplace(1.0)(v).astype(np.float16)),
    "one value": (NOISE, lambda v: np.full(len(v), 0.25)),
    "the smallest floats": (NOISE, lambda v: np.full(len(v), 5e-324)),
    "texts": (NOISE, sometimes(lambda n: np.array(["?"] * n))),
    "rows": (NOISE, sometimes(lambda n: np.zeros((n, 2)))),
    "no numbers": (NOISE, sometimes(lambda n: np.full(n, np.nan))),
    "too large": (NOISE, sometimes(lambda n: np.full(n, np.inf))),
    "nothing but texts": (NOISE, lambda v: np.array(["?"] * len(v))),
    "whole numbers": (NOISE, lambda v: np.arange(len(v)) % 5),
}


@pytest.mark.parametrize("kind", ODD)
def test_counts_of_any_program_are_counts_of_its_plan(kind):
    plan, program = ODD[kind]
    kept = []
    tally = collected(plan, program, keep=lambda t: kept.append(again(t.to_dict())))
    assert tally_from_dict(again(tally.to_dict()), plan) == tally
    for stopped in kept[:-1]:
        assert tally_from_dict(stopped, plan).reports.sum() < plan.total
    assert not in_one_call(tally)
    reports = program([plan.values()[i] for i in plan.order()])
    reports = reports.reports if isinstance(reports, Written) else reports
    order = np.random.default_rng(1).permutation(plan.order())
    alone = counted(plan, order, reports)
    assert in_one_call(alone)
    assert tally_from_dict(again(alone.to_dict()), plan) == alone


@pytest.mark.parametrize("seed", range(5))
def test_what_the_order_settles_is_what_is_counted(seed):
    plan = AuditPlan(randomizer=sd.Laplace(eps0=1.0), reports=101 + seed, seed=seed)
    tally = collected(plan, programs.honest(plan.randomizer))
    asked = asked_of(plan.order(), len(plan.asked), plan.call_size)
    assert (tally.after.sum(axis=2) == asked.after).all()
    assert (tally.agree[..., 1] == asked.pairs).all()
    assert (tally.equal[..., 1] == asked.compared).all()


@pytest.mark.parametrize("n", range(12))
def test_near_and_far_pairs_have_no_report_in_common(n):
    first, second = np.arange(n), np.arange(n) + 100
    (a, b), (c, d) = near_and_far(first, second)
    assert (b - a == 100).all()
    assert (d - c != 100).all()
    assert len(set(np.concatenate([a, c]).tolist())) == len(a) + len(c)
    assert len(set(np.concatenate([b, d]).tolist())) == len(b) + len(d)
    assert len(a) + len(c) == n or n in {2, 3}


def shufflers():
    """Uniform ones that now and then lose, repeat, add or bring back messages."""
    for seed in range(40):
        generator, old = random.Random(seed), []
        wrong = generator.choice([0.0, 0.2, 0.6, 1.0])

        def program(messages, generator=generator, old=old, wrong=wrong):
            out = generator.sample(messages, len(messages))
            if generator.random() < wrong:
                which = generator.randrange(5)
                out = [out[1:], [*out, out[0]], [*out, "?"], out, []][which]
                if which == 3 and old:
                    out = [*out[:-1], old[0]]
            old[:] = messages
            sides = [{"a": float(generator.randrange(3)), "b": generator.random()} for _ in out]
            return [Left(m, side) for m, side in zip(out, sides, strict=True)]

        minimum = generator.choice([None, 9])
        yield program, generator.choice([16, 17, 23, 40]), generator.choice([2, 3, 5, 8]), minimum


def test_counts_of_any_shuffler_are_counts_of_its_plan():
    for program, messages, batches, minimum in shufflers():
        plan = ShufflerPlan(messages=messages, batches=batches, minimum=minimum)
        kept = []
        done = audit_shuffler(program, plan, keep=lambda t, k=kept: k.append(again(t.to_dict())))
        table = again(done.to_dict())
        assert shuffler_start(table)[1].to_dict() == done.tally.to_dict()
        for stopped in kept:
            assert shuffler_start({"plan": table["plan"], "tally": stopped})[1].done % 2 == 0


def test_orders_of_all_kinds_are_counts_of_their_plan():
    """The extreme permutations: identity, one pair exchanged, reversed, rotated, by halves."""
    for n in (16, 17, 21):
        orders = [range(n), range(n)[::-1], [*range(1, n), 0], [1, 0, *range(2, n)]]
        orders += [[*range(n // 2, n), *range(n // 2)], [*range(0, n, 2), *range(1, n, 2)]]
        for order in orders:
            plan = ShufflerPlan(messages=n, batches=4)
            done = audit_shuffler(lambda m, order=order: [m[i] for i in order], plan)
            assert shuffler_start(again(done.to_dict()))[1].to_dict() == done.tally.to_dict()


@pytest.mark.parametrize("name", randomizer_names())
def test_sums_of_every_mechanism_are_sums_of_its_reports(name):
    mechanism = example(name)
    try:
        plan = EstimatesPlan(audit=AuditPlan(randomizer=mechanism), batches=5, users=9)
        done = audit_estimates(programs.honest(mechanism), plan)
    except NotCertified:
        return
    table = again(done.to_dict())
    assert estimates_from_dict(table).to_dict() == done.to_dict()
    sums = table["tally"][2]["sums"]
    for wrong in (float("inf"), 1e9, -1e9):
        edited = copy.deepcopy(table)
        inner = edited["tally"][2]["sums"]
        while isinstance(inner[0], list):
            inner = inner[0]
        inner[0] = wrong
        with pytest.raises(ParameterError, match="estimates"):
            estimates_from_dict(edited)
    assert table["tally"][2]["sums"] == sums


ANSWERS = {
    "bits": lambda v: np.asarray(v) > 0,
    "numbers": lambda v: np.random.default_rng(0).normal(size=len(v)),
    "texts": lambda v: np.array([f"y{i % 3}" for i in range(len(v))]),
    "rows": lambda v: np.column_stack([v, v]),
    "not finite": lambda v: np.full(len(v), np.nan),
    "many texts": lambda v: np.array([f"y{i}" for i in range(len(v))]),
}


@pytest.mark.many(8)
@pytest.mark.parametrize(("first", "second"), [*itertools.product(ANSWERS, repeat=2)])
def test_counts_of_any_black_box_are_counts_of_its_plan(first, second):
    calls = itertools.count()
    plan = UnknownPlan(pair=(0, 1), reports=3_000)

    def program(values):
        return ANSWERS[first if next(calls) % 2 else second](values)

    done = audit_unknown(program, plan)
    assert unknown_from_dict(again(done.to_dict())) == done


# ---------------------------------------------------------------------- every field, changed


def mixer(seed):
    generator = random.Random(seed)
    return lambda m: [
        Left(x, {"pause": generator.random()}) for x in generator.sample(m, len(m) * (len(m) > 9))
    ]


@pytest.fixture(scope="module")
def whole():
    program = programs.honest(K)
    main_part = audit(spaced(program), PLAN)
    wide = audit(programs.honest(NOISE.randomizer), NOISE)
    values = (2, 7)
    outside = audit_domain(lambda v: np.asarray(v) % 2, PLAN, main_part.tally, values=values)
    batches = EstimatesPlan(audit=PLAN, batches=5, users=30, alpha=0.01)
    mixed = ShufflerPlan(messages=32, batches=4, shards=4, minimum=9, alpha=0.01)
    parts = {
        "program": main_part,
        "outside": outside,
        "estimates": audit_estimates(program, batches),
        "shuffler": audit_shuffler(mixer(0), mixed),
        "unknown": audit_unknown(program, UnknownPlan(pair=(0, 1), reports=400, claimed=1.0)),
    }
    every = Saved(parts, {"by": "a test"}), Saved({"program": wide})
    return tuple(again(saved.to_dict()) for saved in every)


def leaves(value, path=()):
    """Every place of a table: numbers and texts, and the tables and lists themselves."""
    yield path
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in inner:
            yield from leaves(one, (*path, key))


def changed(table, path, edit):
    """The table with one place edited; None where that changes nothing."""
    made = copy.deepcopy(table)
    *way, last = path
    where = made
    for key in way:
        where = where[key]
    old = where[last]
    if edit == "gone":
        del where[last]
    else:
        where[last] = edit(old)
    return None if made == table else made


def moved(by):
    number = (int, float)
    return lambda old: old + by if isinstance(old, number) and not isinstance(old, bool) else None


EDITS = {
    "one more": moved(1),
    "one less": moved(-1),
    "none": lambda old: 0 if isinstance(old, int | float) else [],
    "many": lambda old: 10**14,
    "a half": moved(0.5),
    "a text": lambda old: "x",
    "gone": "gone",
}


def read(tmp_path, table, part):
    """What --check makes of a checkpoint of one part: its counts alone speak."""
    parts = {k: {"plan": p["plan"], "tally": p["tally"]} for k, p in table["parts"].items()}
    parts = {k: p for k, p in parts.items() if k == part or (k, part) == ("program", "outside")}
    made = {"format": table["format"], "stopped": True, "parts": parts}
    made["sha256"] = digest_of(parts)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(made))
    try:
        return read_saved(path)
    except ParameterError as error:
        return None if len(str(error).splitlines()) == 1 else error


def edits_of(table, part):
    for where in ("plan", "tally"):
        top = table["parts"][part][where]
        for path in leaves(top):
            for name, edit in EDITS.items():
                if not path:
                    continue
                made = changed(table, ("parts", part, where, *path), edit)
                if made is not None:
                    yield where, path, name, made


def refused(tmp_path, table, part, share):
    """Which edits of a part's plan and counts are judged; none may be an error of ours."""
    judged, drawn = set(), random.Random(0)
    for where, path, name, made in edits_of(table, part):
        if drawn.random() > share:
            continue
        if read(tmp_path, made, part) is not None:
            judged.add((where, path, name))
    return judged


PARTS = ("program", "outside", "estimates", "shuffler", "unknown")


# Counts that may have been others, as far as those beside them tell.
FREE = {"kept", "adjacent", "fixed", "repeated", "early", "traces", "blocks"}


def allowed(part, path, name):
    """Whether these counts, edited so, are still counts that a run can have."""
    if part == "program":  # how many agree; how many are compared is settled
        return (path[0], path[-1]) == ("agree", 0) or path == ("written",)
    if part == "noise":
        return path[0] == "low_bits" or (path[0] in {"agree", "equal"} and path[-1] == 0)
    if part == "outside":  # a value that was refused
        return len(path) == 1 and name in {"one more", "one less", "a half"}
    if part == "estimates":  # it stopped before that batch
        return len(path) == 1 and name == "gone"
    if part == "shuffler":
        return path[0] in FREE and (name != "many" or path == ("early",))
    return path[0] == "categories"


@pytest.mark.many(2)
@pytest.mark.parametrize(
    ("part", "share"),
    [
        *zip(PARTS, (0.01, 0.1, 0.03, 0.01, 0.05), strict=True),
        *(pytest.param(part, 1.0, marks=pytest.mark.long) for part in PARTS),
        pytest.param("noise", 0.1, marks=pytest.mark.long),
    ],
)
def test_every_field_that_is_changed_is_refused_or_judged_anew(whole, tmp_path, part, share):
    """Without anything said of the counts: only other plans and other possible counts are left."""
    table, name = (whole[1], "program") if part == "noise" else (whole[0], part)
    for where, path, edit in refused(tmp_path, table, name, share):
        # Another plan may have the same counts: what is printed is its own.
        assert where == "plan" or allowed(part, path, edit), (path, edit)


@pytest.mark.parametrize("share", [0.001, pytest.param(0.04, marks=pytest.mark.long)])
def test_every_field_of_a_result_that_is_changed_is_refused(whole, tmp_path, share):
    """With all that was said: whatever is changed, and signed anew, does not fit the rest."""
    table, drawn, path = whole[0], random.Random(1), tmp_path / "a.json"
    for place in leaves(table):
        if not place or place[0] == "source" or drawn.random() > share:
            continue
        for edit in EDITS.values():
            made = changed(table, place, edit)
            if made is None or place[0] == "sha256":
                continue
            with contextlib.suppress(TypeError, KeyError, AttributeError):
                made["sha256"] = digest_of(made["parts"])
            path.write_text(json.dumps(made))
            # Another plan may have the same counts and results: a seed of halves that are whole.
            if "plan" in place:
                with contextlib.suppress(ParameterError):
                    assert read_saved(path).verdict == table["verdict"]
                continue
            with pytest.raises(ParameterError):
                read_saved(path)


def nothing(value):
    """The same table with all counts 0."""
    if isinstance(value, dict):
        return {key: nothing(one) for key, one in value.items()}
    if isinstance(value, list):
        return [nothing(one) for one in value]
    return 0 if isinstance(value, int | float) else value


@pytest.mark.parametrize("part", ["program", "estimates", "shuffler", "unknown"])
def test_audits_of_nothing_are_refused(whole, tmp_path, part):
    """No report, no batch; a shuffler of which no batch is whole though nothing is lost."""
    edited = copy.deepcopy(whole[0])
    tally = nothing(edited["parts"][part]["tally"])
    if part == "estimates":
        tally = []
    if part == "unknown":
        first = edited["parts"][part]["tally"]
        tally = first | {"second": tally["second"]}
    edited["parts"][part]["tally"] = tally
    assert read(tmp_path, edited, part) is None
    if part == "shuffler":
        sized = {key: ([[], []] if key == "dummies" else one) for key, one in tally.items()}
        sized["blocks"] = {scale: [[], []] for scale in tally["blocks"]}
        sized["traces"] = {}
        for done, lost, judged in ((4, 0, False), (4, 3, False), (4, 4, True), (5, 9, False)):
            edited["parts"][part]["tally"] = sized | {"done": done, "lost": lost}
            assert (read(tmp_path, edited, part) is not None) == judged, (done, lost)


def test_no_values_outside_are_refused(whole, tmp_path):
    edited = copy.deepcopy(whole[0])
    edited["parts"]["outside"] = {"plan": {"alpha": 0.01, "values": []}, "tally": []}
    assert read(tmp_path, edited, "outside") is None
    edited["parts"]["outside"] = {"plan": {"alpha": 0.01, "values": [1]}, "tally": [None]}
    assert read(tmp_path, edited, "outside") is None
    edited["parts"]["outside"] = {"plan": {"alpha": 0.01, "values": [9]}, "tally": [None]}
    assert read(tmp_path, edited, "outside").parts["outside"].refused == (9,)
