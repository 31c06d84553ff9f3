"""The benchmark of the samplers: what it counts, and that it runs for every mechanism."""

import numpy as np
from bench import cases, throughput

import shuffledp as sd
from shuffledp.randomness import SeededSource


def test_the_draws_are_counted_and_replayed():
    counting = throughput.Counting(SeededSource(0))
    sd.KRR(k=100, eps0=4.0).randomize_with(np.zeros(1000, dtype=int), counting)
    assert 0 < sum(counting.calls) <= 2000  # a coin, and an item where it misses
    again = throughput.Counting(SeededSource(0))
    throughput.replay(again, counting.calls)
    assert again.calls == counting.calls


def test_every_mechanism_has_inputs_and_a_row():
    for name, randomizer in cases.tabulated().items():
        row = throughput.mechanism(name, randomizer, 50, 1)
        assert len(row) == 8
        assert all(row)


def test_report():
    text = throughput.report(runs=1, users=50, many=300)
    assert "DuckDB: Parquet to estimates" in text
    assert text.count("\n| k-rr ") == 2
