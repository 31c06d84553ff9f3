"""Class laws against every single output of small mechanisms, each written from its definition."""

from fractions import Fraction

from flint import arb, ctx, fmpq

from laws import finite_law
from shuffledp.bounds.clones import clone_pair, stronger_clone_pair


def test_clone_gains_have_their_mean():
    with ctx.workprec(150):
        for build in (clone_pair, stronger_clone_pair):
            made = build(eps0=2.0, n=5).gains(arb(0.7), -20.0)
            mean = sum((w * g for w, g in zip(*made.above, strict=True)), start=arb(0))
            assert sum(made.above.masses, start=arb(0)).overlaps(arb(1))
            assert mean.overlaps(1 - arb(0.7).exp())


def test_a_channel_is_normalised_exactly():
    with ctx.workprec(150):
        rows = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
        law = finite_law({"name": "channel", "matrix": rows}, (0, 1))
        total = sum(Fraction(v) for v in rows[0])
        want = Fraction(0.1) / total
        ball = arb(fmpq(want.numerator, want.denominator))
        assert any(c.probability[0].overlaps(ball) for c in law)
        assert sum((c.probability[0] for c in law), arb(0)).overlaps(arb(1))


def test_equal_epsilons_give_exact_zeros():
    with ctx.workprec(150):
        law = finite_law({"name": "k-rr", "k": 3, "eps0": 0.7}, (0, 1))
        assert any(c.excess(arb(0.7)).is_zero() for c in law)
