"""Accounting where the analyst sees sums of reports, and what the account calls things then."""

from __future__ import annotations

from shuffledp.bound import Bound
from shuffledp.deployment.model import Deployment
from shuffledp.views.datasets import local_guarantee

# What happens if the trust in whoever stands between users and analyst is misplaced.
NO_SHUFFLER, NO_AGGREGATOR = "shuffler fails", "aggregator fails"
FAILURES = (NO_SHUFFLER, NO_AGGREGATOR)


def failed(deployment: Deployment) -> str:
    """The situation in which nothing hides a user's report."""
    return NO_AGGREGATOR if deployment.view == "sums" else NO_SHUFFLER


def alone_words(deployment: Deployment) -> str:
    """Where n = 1 comes from in that situation."""
    sent = "report" if deployment.view == "sums" else "message"
    return f"every {sent} is seen with its sender: nothing hides it"


def sums_at_target(
    deployment: Deployment, n: int, *, rounds: int = 1, failed: bool = False
) -> Bound:
    """What the deployment's target asks for, of sums of n honest reports in so many rounds.

    ``failed``: the aggregator does not add its noise.
    """
    target = deployment.target
    view = deployment.sums(n, rounds=rounds, failed=failed)
    return view.bound(target.quantity, target.value, recomputed=True)


def sums_guarantee(deployment: Deployment, *, rounds: int = 1) -> float:
    """Pure guarantee of one user's reports, seen alone; inf if there is none."""
    return local_guarantee(deployment.sums(1, rounds=rounds))
