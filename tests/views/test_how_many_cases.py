"""How many random cases the views are held against exhaustive enumeration in: at least 5,000.

A case is a random mechanism, crowd or shuffler with its users and its relation; all neighbouring
data sets of it are listed, in both orders, at one eps or more. ``pytest -s`` prints the counts.
"""

from collections import Counter

from crowds import test_crowd
from models import test_shufflers
from views import test_added, test_certified, test_sums


def seeds_of(test):
    """All that the test is parametrized by: (seed, whether it is in every run)."""
    (mark,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    for one in mark.args[1]:
        values = getattr(one, "values", (one,))
        yield values[0], not getattr(one, "marks", ())


def relations_drawn(name, seeds, cases):
    """(relation, most ones) of each case, drawn as the test draws them."""
    for seed in seeds:
        rng = test_sums.random.Random(name.format(seed))
        for _ in range(cases(seed)):
            _, _, ones, relation = test_sums.random_case(rng)
            yield f"{relation}, {'items' if ones == 1 else 'several ones'}"
            # What else the test draws of a case: one eps.
            rng.choice((0.05, 0.3, 0.7, 0.95))


CASES = {
    "sums": (test_sums.test_random_sums_against_every_pair_of_datasets, test_sums.cases_of),
    "sums, certificates": (
        test_certified.test_random_sums_against_every_pair_of_datasets,
        lambda _: test_certified.CASES_OF_A_SEED,
    ),
    "sums with noise, one bit": (
        test_added.test_one_noisy_bit_against_every_dataset,
        test_added.bits_of,
    ),
    "sums with noise, vectors": (
        test_added.test_noisy_vectors_against_every_pair_of_datasets,
        test_added.vectors_of,
    ),
    # Every group's members are a case.
    "crowds": (
        test_crowd.test_both_ends_against_all_data_sets,
        lambda seed: len(test_crowd.drawn(seed)),
    ),
    "orders near uniform": (test_shufflers.test_orders_near_uniform, lambda _: 1),
    "random orders": (test_shufflers.test_any_table_of_permutations_near_uniform, lambda _: 1),
    "shards": (test_shufflers.test_public_shards, lambda _: 1),
    "dummies": (test_shufflers.test_dummies_of_any_inputs, lambda _: 1),
    "absent users": (test_shufflers.test_absent_users_are_filled_in, lambda _: 1),
    "several users": (test_shufflers.test_several_users, lambda _: 1),
    "all of a shuffler": (test_shufflers.test_all_at_once, lambda _: 1),
}


def test_at_least_five_thousand_cases_and_some_of_each():
    counts, always = Counter(), Counter()
    for view, (test, cases) in CASES.items():
        for seed, in_every_run in seeds_of(test):
            counts[view] += cases(seed)
            always[view] += cases(seed) * in_every_run
    kinds = Counter()
    for view, name in (("sums", "sums {}"), ("sums, certificates", "certified sums {}")):
        test, cases = CASES[view]
        kinds.update(relations_drawn(name, [seed for seed, _ in seeds_of(test)], cases))
    for view in CASES:
        print(f"{view}: {counts[view]:,} ({always[view]} in every run)")
    print(f"of sums: {dict(kinds)}")
    print(f"in all: {sum(counts.values()):,}")
    assert sum(counts.values()) >= 5_000
    assert min(counts.values()) >= 60
    assert min(always.values()) >= 1
    assert sum(kinds.values()) == counts["sums"] + counts["sums, certificates"]
    assert len(kinds) == 4
    assert min(kinds.values()) >= 400
