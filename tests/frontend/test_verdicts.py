"""The verifier's one line never says more than the claims' own verdicts."""

from __future__ import annotations

from itertools import product

from shuffledp.certificate.checks import Check, Checks

WORDS = ("holds", "does not hold", "undecided")


def headline(verdicts):
    return Checks([Check("now", "a claim", verdict, "") for verdict in verdicts]).headline()


def test_verified_means_that_there_are_claims_and_all_of_them_hold() -> None:
    for count in range(5):
        for verdicts in product(WORDS, repeat=count):
            verified = headline(verdicts).startswith("VERIFIED")
            assert verified == (count > 0 and set(verdicts) == {"holds"})


def test_a_claim_that_does_not_hold_outweighs_one_that_could_not_be_decided() -> None:
    said = headline(["undecided", "does not hold", "holds"])
    assert said == "NOT VERIFIED: 1 of 3 claims do not hold"
