"""sgd: the privacy of training with noise on users' gradients or on batches' sums."""

from __future__ import annotations

from shuffledp import _check
from shuffledp._check import Trust
from shuffledp.errors import rejected
from shuffledp.neighbours import (
    ADD_OR_REMOVE,
    REPLACE_SPECIAL,
    REPLACEMENT,
    Relation,
    relation_named,
)
from shuffledp.training.account import SAMPLERS, SGD, Sampler, checked_noise
from shuffledp.values.described import by_name


@by_name
def sgd(
    *,
    n: int,
    noise: float,
    clip: float,
    epochs: int,
    batch: int = 1,
    delta: float,
    sampler: Sampler | None = None,
    per_epoch: int = 1,
    relation: Relation | str = "replace-special",
    trust: Trust = "all",
    lower: bool = False,
) -> SGD:
    """Privacy of SGD on clipped gradients with Gaussian noise.

    Without ``sampler`` the noise is on every user's gradient (the shuffle model): neighbours are
    datasets with one user's value replaced. With one it is on every batch's sum (DP-SGD): see
    ``SGD``.

    Parameters
    ----------
    n : int
        Users (examples), 1 <= n <= 1e15.
    noise : float
        Standard deviation of the noise on every gradient, or with a sampler on every batch's sum,
        in the gradient's units; clip/25 to 1e100 clip.
    clip : float
        L2 norm every gradient is clipped to, 1e-100 to 1e100.
    epochs : int
        Passes over the data.
    batch : int
        Gradients added up for a step. Without a sampler that is post-processing, so it does not
        change the privacy; with one an epoch has ceil(n/batch) steps.
    delta : float
        Target, 0 < delta < 1.
    sampler : {"balls-and-bins", "shuffle", "poisson"}, optional
        How the examples of an epoch come into batches.
    per_epoch : int
        Balls and bins: in how many batches of an epoch each example is.
    relation : {"replace-special", "add-or-remove-one"} or Relation
        With a sampler, which datasets are neighbours: one example's gradients replaced by zero, or
        one example added or removed (not for shuffled batches).
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs.
    lower : bool
        Without a sampler: also a lower end, from fixed gradients (tens of seconds).

    Raises
    ------
    ParameterError
        If an argument is outside its domain.

    Examples
    --------
    >>> import shuffledp as sd
    >>> run = sd.sgd(n=60_000, noise=2.0, clip=1.0, epochs=10, batch=600, delta=1e-6)
    >>> run.steps
    1000
    >>> run = sd.sgd(
    ...     n=50, noise=0.5, clip=1.0, epochs=1, delta=1e-6, batch=1, sampler="balls-and-bins"
    ... )
    >>> 0.1179 < run.delta(epsilon=0.5).upper < 0.118
    True
    """
    if not isinstance(lower, bool):
        raise rejected("lower", lower, "True or False")
    if sampler is None and (per_epoch != 1 or relation != "replace-special"):
        wanted = "a sampler, for per_epoch and relation to mean something"
        raise rejected("sampler", sampler, wanted)
    if sampler is not None and lower:
        raise rejected("lower", lower, "nothing: with a sampler there is always a lower end")
    noise, clip = checked_noise(noise, clip)
    n = _check.count("n", n)
    steps = -(-n // _check.count("batch", batch, high=n))
    most = steps if sampler == "balls-and-bins" else 1
    run = SGD(
        sampler=None if sampler is None else _sampler(sampler),
        n=n,
        noise=noise,
        clip=clip,
        epochs=_check.count("epochs", epochs, high=10**9),
        batch=batch,
        target=_check.open_unit("delta", delta),
        per_epoch=_check.count("per_epoch", per_epoch, high=most),
        relation=_relation(sampler, relation),
        trust=_check.trust(trust),
        lower=lower,
    )
    if sampler is not None:
        _check.count("steps (epochs times ceil(n/batch))", run.steps, high=10**9)
    return run


def _relation(sampler: Sampler | None, relation: Relation | str) -> Relation:
    """Which datasets are neighbours, where that is known of the sampler."""
    if sampler is None:
        return REPLACEMENT
    found = relation_named(relation)
    allowed = (REPLACE_SPECIAL,) if sampler == "shuffle" else (REPLACE_SPECIAL, ADD_OR_REMOVE)
    if found not in allowed:
        keys = " or ".join(f'"{r.key}"' for r in allowed)
        raise rejected("relation", found.key, f"{keys} for sampler = {sampler!r}")
    return found


def _sampler(sampler: str) -> Sampler:
    return SAMPLERS[SAMPLERS.index(_check.choice("sampler", sampler, SAMPLERS))]  # type: ignore[arg-type]
