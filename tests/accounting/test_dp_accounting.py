"""Shuffle events inside dp_accounting, and the traps that are there."""

import math
import pickle

import dp_accounting as da
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as distribution

import shuffledp as sd
from shuffledp.accounting import (
    ShuffleDpEvent,
    ShufflePLDAccountant,
    ShuffleRdpAccountant,
    certified,
)
from shuffledp.rounds.gaussian import log_delta_gaussian

KRR = sd.KRR(k=10, eps0=4.0)
WEEKLY = sd.shuffle(KRR, n=10_000)
EVENT = ShuffleDpEvent(WEEKLY)
GRID = 1e-3


def pld_accountant():
    return ShufflePLDAccountant(value_discretization_interval=GRID)


def test_events_travel():
    assert ShuffleDpEvent(sd.shuffle(KRR, n=10_000)) == EVENT != ShuffleDpEvent(WEEKLY.with_n(99))
    assert da.DpEvent.from_named_tuple(EVENT.to_named_tuple()) == EVENT
    composed = da.ComposedDpEvent([EVENT, da.SelfComposedDpEvent(EVENT, 3)])
    assert da.DpEvent.from_named_tuple(composed.to_named_tuple()) == composed
    assert pickle.loads(pickle.dumps(composed)) == composed


def test_an_event_is_all_rounds_of_its_account():
    rounds = WEEKLY.compose(rounds=3)
    found = certified(da.SelfComposedDpEvent(EVENT, 3))
    assert found == certified(ShuffleDpEvent(rounds)) == rounds
    assert certified(ShuffleDpEvent(sd.shuffle(KRR, n=10_000, rounds=3))) == rounds


@pytest.mark.long
def test_pld_agrees_with_ours_within_its_grid():
    for count in (1, 52, 400):
        theirs = pld_accountant().compose(EVENT, count).get_epsilon(1e-6)
        ours = WEEKLY.compose(rounds=count).epsilon(delta=1e-6)
        # Pessimistic: not below the certified lower end; the grid costs count * grid^2 and a bit.
        assert theirs >= ours.lower
        assert theirs <= ours.upper * 1.002 + 2 * GRID


# ------------------------------------------------------------------------------------- the traps


def test_count_of_randomized_response_is_kept():
    event = da.RandomizedResponseDpEvent(0.5, 2)
    one = pld_accountant().compose(event).get_epsilon(1e-9)
    ten = pld_accountant().compose(event, 10).get_epsilon(1e-9)
    assert one == pytest.approx(math.log(3.0), abs=2 * GRID)
    assert ten > 5 * one
    assert (
        pld_accountant().compose(da.RandomizedResponseDpEvent(0.0, 2), 2).get_epsilon(0.1)
        == math.inf
    )
    assert pld_accountant().compose(da.RandomizedResponseDpEvent(0.3, 1), 9).get_epsilon(0.1) == 0.0


def test_asymmetric_pairs_keep_both_directions():
    # An asymmetric PLD: taken into a composition, the worse direction decides.
    rows = {0: 0.9, 1: 0.1}, {0: 0.999, 1: 0.001}
    pld = distribution.from_two_probability_mass_functions(
        {k: math.log(v) for k, v in rows[1].items()},
        {k: math.log(v) for k, v in rows[0].items()},
        value_discretization_interval=GRID,
        symmetric=False,
    )
    taken = sd.compose([sd.central.from_pld(pld, relation="replace-one")], rounds=3)
    exact = 0.0
    for first, second in (rows, rows[::-1]):
        total = 0.0
        for k in range(4):
            p = math.comb(3, k) * first[1] ** k * first[0] ** (3 - k)
            q = math.comb(3, k) * second[1] ** k * second[0] ** (3 - k)
            total += max(p - math.exp(2.0) * q, 0.0)
        exact = max(exact, total)
    bound = taken.delta(epsilon=2.0)
    assert bound.upper >= exact
    assert bound.upper <= exact * 1.01
    # One direction alone would have been far too small.
    assert exact > 100 * min(
        max(rows[i][1] - math.exp(2.0) * rows[1 - i][1], 0.0) + 1e-9 for i in (0, 1)
    )
    assert taken.pld(discretization=GRID).get_delta_for_epsilon(2.0) >= exact


def test_asymmetric_channel_hands_over_a_dominating_pld():
    channel = sd.Channel(matrix=[[0.9375, 0.0625], [0.5, 0.5]])
    acc = sd.shuffle(channel, n=3)
    pld = acc.pld(discretization=GRID)
    for eps in (0.0, 0.3, 0.8, 1.5):
        assert pld.get_delta_for_epsilon(eps) >= acc.delta(epsilon=eps).lower


def test_optimistic_and_broken_plds_are_refused():
    optimistic = distribution.from_gaussian_mechanism(
        1.0, pessimistic_estimate=False, value_discretization_interval=GRID
    )
    with pytest.raises(sd.ParameterError, match="optimistic"):
        sd.central.from_pld(optimistic, relation="replace-one")
    with pytest.raises(sd.ParameterError, match="pessimistic"):
        sd.central.from_pld("no pld", relation="replace-one")
    with pytest.raises(TypeError):
        sd.central.from_pld(optimistic)
    broken = distribution.PrivacyLossDistribution(
        pld_pmf.create_pmf({0: 0.5, 1: math.nan}, GRID, 0.0, pessimistic_estimate=True)
    )
    with pytest.raises(sd.ParameterError, match="NaN"):
        sd.central.from_pld(broken, relation="replace-one")


def run_of(sampler, relation="add-or-remove-one", **more):
    given = {"n": 100, "noise": 1.0, "clip": 1.0, "epochs": 3, "batch": 10}
    return sd.SGD(sampler=sampler, relation=relation, **(given | more))


ADDED = da.NeighboringRelation.ADD_OR_REMOVE_ONE
ZEROED = da.NeighboringRelation.REPLACE_SPECIAL


def test_poisson_batches_are_those_of_dp_accounting_in_both_directions():
    """So that they may be composed with its own events: removal first, then addition."""
    ours = run_of("poisson", epochs=1).composed().pld(discretization=GRID)
    theirs = distribution.from_gaussian_mechanism(
        1.0, sampling_prob=0.1, value_discretization_interval=GRID, neighboring_relation=ADDED
    ).self_compose(10)
    for epsilon in (0.2, 0.5, 0.9):
        for side in ("_pmf_remove", "_pmf_add"):
            mine, other = (getattr(p, side).get_delta_for_epsilon(epsilon) for p in (ours, theirs))
            assert other * (1.0 - 1e-2) - 1e-9 <= mine <= other * (1.0 + 1e-2) + 1e-4
    assert ours._pmf_remove.get_delta_for_epsilon(1.0) > 1e-3
    assert ours._pmf_add.get_delta_for_epsilon(1.0) < 1e-12


@pytest.mark.parametrize("relation", [da.NeighboringRelation.REPLACE_ONE, ZEROED])
def test_batches_count_under_their_own_relation_alone(relation):
    event = ShuffleDpEvent(run_of("poisson"))
    for accountant in (
        ShufflePLDAccountant(relation, GRID),
        ShuffleRdpAccountant(neighboring_relation=relation),
    ):
        with pytest.raises(da.UnsupportedEventError, match="ADD_OR_REMOVE_ONE"):
            accountant.compose(event)
    # A shuffle event has no name under the relation of batches.
    with pytest.raises(sd.ParameterError):
        certified(da.ComposedDpEvent([EVENT, event])).epsilon(delta=1e-6)


@pytest.mark.long
def test_unnormalised_input_stays_an_upper_bound():
    # Rounded masses of their composition: what is taken over has at least the curve they claim.
    gauss = distribution.from_gaussian_mechanism(2.0, value_discretization_interval=GRID)
    taken = sd.central.from_pld(gauss, relation="add-or-remove-one")
    composed = sd.compose([taken], rounds=4)
    theirs = gauss.self_compose(4)
    mu = math.sqrt(4) / 2.0
    for eps in (0.5, 2.0):
        bound = composed.delta(epsilon=eps)
        assert bound.upper >= theirs.get_delta_for_epsilon(eps) * 0.999
        assert bound.log_upper >= log_delta_gaussian(mu, eps).low - 1e-9
