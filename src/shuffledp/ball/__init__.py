"""An independent evaluator in ball arithmetic, for verifying certificates and for the tests.

It imports nothing of the rest of the package but the errors, rebuilds every output law from the
definition of the mechanism, and needs python-flint (extra ``verify``).

* `shuffledp.ball.api.log_delta`: a rigorous bracket of log delta(epsilon).
* `shuffledp.ball.claim.check_claim`: holds, does not hold, or undecided.
"""
