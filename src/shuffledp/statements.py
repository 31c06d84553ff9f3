"""The sentences that numbers rest on, each once and by its id.

An account prints them as the assumptions of a ``Bound``; a certificate holds their ids and the
values that stand in their braces, from which report and page print the sentences again. Theorems
have a table of their own, ``theorems``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SENTENCES", "Sentence", "say"]

SENTENCES = {
    # -------------------------------------------------------------------- one round of messages
    "neighbours": "neighbouring datasets: {} (n is public)",
    "neighbours-n": "neighbouring datasets: {}",
    "honest": "all n messages are randomized as stated and reach the shuffler",
    "shuffler": (
        "the analyst sees the messages in a uniformly random order and nothing else of them"
    ),
    "one-round": "one report per user and one round",
    "same": "every user runs the same randomizer, chosen before any message is seen",
    "same-family": (
        "every user runs the same eps0-LDP randomizer, chosen before any message is seen"
    ),
    "in-order": (
        "every user runs the same eps0-LDP randomizer, or the i-th message of the shuffled users "
        "is made by the i-th randomizer"
    ),
    "adaptive": (
        "every randomizer is eps0-LDP for every history it may depend on; users are shuffled "
        "first, then randomized one after another"
    ),
    "ratio": (
        "p, beta and q hold for the victim's two laws and every other user's law on one alphabet, "
        "chosen before any message is seen"
    ),
    "ratio-adaptive": (
        "p, beta and q hold at every position and for every history; users are shuffled first, "
        "then randomized one after another"
    ),
    # ------------------------------------------------------------------ protocols, many messages
    "counted": (
        "n counts users who make their messages as stated, all of which reach the shuffler; "
        "blanket messages of colluders or of users who drop out protect nobody: leave those users "
        "out of n"
    ),
    "seen-together": (
        "the analyst sees all users' messages in one uniformly random order and nothing else of "
        "them, nor who sent how many"
    ),
    "one-run": "one run of the protocol",
    "told-apart": (
        "exact whatever the other users hold: their data messages can be told apart and say "
        "nothing of the victim"
    ),
    "left-out": ("the other users' data messages are left out, which only weakens the upper end"),
    # -------------------------------------------------------------------------------- all rounds
    "rounds": (
        "{}; each user takes part in every one, with fresh randomness; what is asked in a round "
        "may depend on all earlier outputs"
    ),
    "no-single-pair": (
        "no single pair of inputs is the worst at every eps: the largest over all pairs at each "
        "eps is what is composed"
    ),
    # ------------------------------------------------------------------------------------ crowds
    "crowd-shuffler": (
        "the analyst sees the messages of all groups in one uniformly random order and nothing "
        "else of them"
    ),
    "groups": (
        "who is in which group, and how many are in each, is public and the same in both "
        "datasets: somebody who joins, leaves or changes the group is not covered"
    ),
    "fixed": "every user runs the mechanism of the group, chosen before any message is seen",
    "alike": (
        "reports of all groups are values of one set, written alike whichever group they are "
        "from: nothing of a message but its value is seen"
    ),
    "bits-sent": (
        "reports of duchi are sent as the bit 0 or 1, not as the number that it stands for, which "
        "would tell groups of different eps0 or intervals apart"
    ),
    # -------------------------------------------------------------------------------------- sums
    "added-up": (
        "all n reports are randomized as stated, each with randomness of its own, and are added up"
    ),
    "sums": (
        "the analyst sees the sum of each coordinate over all n reports and nothing else of them"
    ),
    "noisy-sums": (
        "the analyst sees the sum of each coordinate over all n reports with noise on it, and "
        "nothing else of them"
    ),
    "sums-rounds": (
        "{:,} rounds, each with randomness of its own; what is reported may depend on all sums "
        "before"
    ),
    "ones": "a report holds at most {:,} ones before it is randomized",
    "item": "a report holds one 1 before it is randomized",
    "zero-vector": "the special value is the report of zeros alone, randomized as every other",
    "or-item": "every other report holds one 1 before it is randomized",
    "real-sums": "inputs are in [{}, {}]; noise and sums are real numbers, not floats",
    "vector-sums": (
        "inputs are vectors of Euclidean length at most {}; noise and sums are real numbers, not "
        "floats"
    ),
    "added-noise": (
        "to every coordinate's sum the aggregator adds discrete {} noise z of its own, exactly "
        "with probability proportional to {}; nobody else knows the noise, or the sum without it"
    ),
    # --------------------------------------------------------------------------------- shufflers
    "each-shuffler": (
        "the analyst sees the messages of every shard in a uniformly random order of its own, and "
        "nothing else of them"
    ),
    "within": (
        "the analyst sees the messages in an order whose law, given the messages, is within total "
        "variation {} of uniform and depends on no more of the data, and nothing else of them"
    ),
    "within-each": (
        "the analyst sees the messages of every shard in an order whose law, given all messages "
        "and the other shards' orders, is within total variation {} of uniform and depends on no "
        "more of the data, and nothing else of them"
    ),
    "shards": (
        "{:,} shards, each shuffled on its own: who is in which one is public and the same in "
        "both datasets, and none has less than its even share of the users, rounded down"
    ),
    "secret-shards": (
        "{:,} shards of public sizes: who is in which one is drawn uniformly, whatever the data "
        "are, and the analyst does not know it"
    ),
    "dummies": (
        "the shuffler adds {:,} reports{} by the users' randomizer, of inputs that do not depend "
        "on the users' data, shuffled with the others; the analyst does not know which they are"
    ),
    "fills": (
        "in the place of a user who sends nothing stands a report by the users' randomizer, of an "
        "input that does not depend on the users' data; nobody who sees reports with their "
        "senders can tell which they are"
    ),
    # ------------------------------------------------------------------------------- deployments
    "arriving": (
        "at least {:,} of the {:,} users' reports arrive (rounded down; who drops out does not "
        "depend on the values)"
    ),
    "colluding": (
        "in every {} at most {} of the {}, rounded up, {} with the analyst; their {} hide nobody"
    ),
    "minimum-batch": (
        "the {} releases nothing from a batch of fewer than {:,} {}; a larger batch is at least as "
        "private as a smaller one"
    ),
    "rows-left-out": (
        "rows {} are left out: which rows these are, and how many, is not hidden; neighbouring "
        "datasets leave out the same"
    ),
    "dap": (
        "DAP task with {} of {} and min_batch_size = {:,}: every report is randomized before it "
        "is sharded and is in one batch alone, a batch is collected once, and one of the "
        "aggregators is honest"
    ),
}


class Sentence(str):
    """A sentence of the table; ``id`` is its name there, ``values`` stand in its braces."""

    __slots__ = ("id", "values")

    id: str
    values: tuple[Any, ...]


def say(name: str, *values: Any) -> Sentence:
    """The sentence of this id, with what stands in its braces.

    Parameters
    ----------
    name : str
        A key of ``SENTENCES``.
    values
        One for each pair of braces.
    """
    found = Sentence(SENTENCES[name].format(*values))
    found.id, found.values = name, values
    return found
