"""Which bounds were looked at, and what of them is on the wrong side of the exact answer."""

from adversary.crowds import LONG


class Tally:
    """Bounds that were looked at, and those on the wrong side."""

    def __init__(self):
        self.asked = {}
        self.wrong = []

    def count(self, kind):
        self.asked[kind] = self.asked.get(kind, 0) + 1

    @property
    def total(self):
        return sum(self.asked.values())

    def held(self, kind, bound, experiment, about, *, lower=True, least=None):
        """One bound against an experiment; its lower end against ``least``, if that is given."""
        self.count(kind)
        below = experiment if least is None else least
        for wrong in violations(bound, experiment, below if lower else None):
            self.wrong.append((kind, wrong, about, bound))


def violations(bound, experiment, below):
    """What is on the wrong side, in words."""
    if not 0.0 <= bound.lower <= bound.upper:
        yield f"ends {bound.lower!r} > {bound.upper!r}"
    if bound.quantity == "delta":
        low, high, _ = experiment.deltas(bound.at["epsilon"])
        if LONG(bound.upper) < low:
            yield f"delta: upper {bound.upper!r} < {low!r}"
        if below is not None:
            high = below.deltas(bound.at["epsilon"])[1]
            if LONG(bound.lower) > high:
                yield f"delta: lower {bound.lower!r} > {high!r}"
    elif bound.quantity == "epsilon":
        delta = LONG(bound.at["delta"])
        if bound.upper < 300.0:
            low = experiment.deltas(bound.upper)[0]
            if low > delta:
                yield f"epsilon: at upper {bound.upper!r} delta is {low!r}"
        if below is not None and 0.0 < bound.lower < 300.0:
            high = below.deltas(bound.lower)[1]
            if high < delta:
                yield f"epsilon: at lower {bound.lower!r} delta is {high!r}"
    elif bound.quantity == "renyi":
        low, high = experiment.renyi(bound.at["order"])
        if LONG(bound.upper) < low:
            yield f"renyi: upper {bound.upper!r} < {low!r}"
        if below is not None and LONG(bound.lower) > below.renyi(bound.at["order"])[1]:
            yield f"renyi: lower {bound.lower!r} > {high!r}"
    else:
        yield f"unknown quantity {bound.quantity!r}"
