"""``shuffledp epsilon`` and ``delta``: a number, a curve or all analyses of one mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from shuffledp import _check
from shuffledp.accounts import VIEWS, shuffle
from shuffledp.accounts.sources import source_from_dict
from shuffledp.amplification.analyses import UNCERTIFIED
from shuffledp.bound import Bound, large_delta_words
from shuffledp.cli.mechanisms import MechanismCommand, mechanism_label
from shuffledp.cli.progress import progress
from shuffledp.cli.text import bound_text, counted, end_text, print_json
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected
from shuffledp.views.noise import AddedNoise

# Names that ``--analysis`` takes beside those of single analyses.
_EVERY, _EVERY_SLOW = "all", "all-slow"
# A curve's points where none are asked for, and users it goes over.
_POINTS, _FEWEST, _MOST = 41, 100, 1_000_000
_AUTO = "auto"
# eps in nats at which the better of two guesses is right with probability 1/(1 + e^-eps) = 19/20.
_LARGE = math.log(19.0)

ROUNDS = click.Option(
    ["--rounds"], type=Whole(), help="Rounds in which every user takes part.  [default: 1]"
)
TRUST = click.Option(
    ["--trust"],
    default="all",
    show_default=True,
    metavar="all|published",
    help="'published' leaves out what is proved only in docs/theory.md.",
)
VIEW = (
    click.Option(
        ["--view"],
        type=click.Choice(VIEWS),
        default="messages",
        show_default=True,
        help="What the analyst sees: all messages in a random order, or the sums of their bits.",
    ),
    click.Option(
        ["--ones"], type=Whole(), default=1, help="With sums: the most 1s in a user's vector."
    ),
    click.Option(
        ["--relation"],
        default="replace-one",
        help="With sums: replace-one, or replace-special (a vector of zeros).",
    ),
    click.Option(
        ["--added"],
        metavar="KIND:SCALE",
        help="With sums: noise of the aggregator's own on each, as discrete-laplace:4 (e^(-|z|/4)) "
        "or discrete-gaussian:4 (e^(-z^2/32)).",
    ),
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON and nothing else.")


@dataclass(frozen=True)
class Asked:
    """What a command was asked about: the mechanism, and what the analyst sees.

    Attributes
    ----------
    description : dict
        The mechanism as a table.
    rounds : int or None
        In which every user takes part.
    analysis : str or None
        The one that was named.
    trust, view, ones, relation, added
        As typed.
    """

    description: dict[str, Any]
    rounds: Any
    analysis: str | None
    trust: Any
    view: str
    ones: Any
    relation: str
    added: str | None

    @property
    def label(self) -> str:
        """The mechanism in a line, and the rounds."""
        rounds = "" if self.rounds is None else f", {counted(self.rounds, 'round')}"
        return mechanism_label(self.description) + rounds

    def account(self, n: Any) -> Any:
        """The account of n users."""
        return shuffle(
            source_from_dict(self.description),
            n,
            view=self.view,
            ones=self.ones,
            relation=self.relation,
            added=added_noise(self.added),
            rounds=1 if self.rounds is None else self.rounds,
            trust=self.trust,
        )

    def named(self) -> dict[str, str]:
        """The analysis as an argument, if one was named."""
        if self.analysis in UNCERTIFIED:
            wanted = (
                f"an analysis that certifies; its number is in the table of --analysis {_EVERY}"
            )
            raise rejected("analysis", self.analysis, wanted)
        return {} if self.analysis is None else {"analysis": self.analysis}


def _epsilon(
    description: dict[str, Any],
    *,
    n: Any,
    delta: float,
    analysis: str | None,
    curve: str | None,
    plot: str | None,
    as_json: bool,
    **setting: Any,
) -> None:
    asked = Asked(description, analysis=analysis, **setting)
    delta = _check.open_unit("delta", delta)
    if analysis in {_EVERY, _EVERY_SLOW}:
        _refuse_curve(curve, plot)
        _compare(asked, n, delta, slow=analysis == _EVERY_SLOW, as_json=as_json)
    elif curve is not None or plot is not None:
        ends = _ends(curve, Whole())

        def over_users() -> tuple[list[float], list[Bound]]:
            return points_over_users(
                lambda n: asked.account(n).epsilon(delta=delta, **asked.named()), ends
            )

        marked = None if n is None else _check.count("n", n)
        _show_curve(asked.label, over_users, plot=plot, marked=marked, as_json=as_json)
    else:
        account = asked.account(_needed(n))
        with progress(f"eps of {asked.label}"):
            bound = account.epsilon(delta=delta, **asked.named())
        warn_of_delta(delta, n)
        _warn_of_epsilon(bound)
        _show(bound, as_json=as_json)


def _delta(
    description: dict[str, Any],
    *,
    n: Any,
    epsilon: float | None,
    analysis: str | None,
    curve: str | None,
    plot: str | None,
    as_json: bool,
    **setting: Any,
) -> None:
    asked = Asked(description, analysis=analysis, **setting)
    if analysis in {_EVERY, _EVERY_SLOW}:
        raise rejected("analysis", analysis, "one analysis; all of them are compared by epsilon")
    if curve is not None or plot is not None:
        if epsilon is not None:
            raise ParameterError(f"epsilon = {epsilon!r}: wanted none with a curve over eps")
        ends = _ends(curve, Number())
        account = asked.account(_needed(n))

        def over_epsilon() -> tuple[list[float], list[Bound]]:
            return _over_epsilon(asked, account, ends)

        _show_curve(asked.label, over_epsilon, plot=plot, marked=None, as_json=as_json)
        return
    if epsilon is None:
        raise ParameterError("epsilon is missing: wanted --epsilon, eps >= 0 in nats, or --curve")
    account = asked.account(_needed(n))
    with progress(f"delta of {asked.label}"):
        bound = account.delta(epsilon=epsilon, **asked.named())
    warn_of_delta(bound.upper, n)
    _show(bound, as_json=as_json)


def _needed(n: Any) -> Any:
    if n is None:
        raise ParameterError("n is missing: wanted -n, the users in the shuffle")
    return n


def warn_of_delta(delta: float, n: Any) -> None:
    """The warning of ``account``, on stderr, where delta is above 1/n."""
    words = large_delta_words(delta, int(n))
    if words:
        click.echo(f"warning[large-delta]: {words}", err=True)


def _warn_of_epsilon(bound: Bound) -> None:
    """The same for an eps at which a guess is as sure as a test at 5 per cent, or surer."""
    if bound.upper > _LARGE:
        said = end_text(bound, up=True, digits=4)
        words = "a guess between two values of a user may be right more than 19 times in 20"
        click.echo(f"warning[large-eps]: eps <= {said}: {words}", err=True)


def added_noise(given: str | None) -> AddedNoise | None:
    """The aggregator's noise as it is typed: kind:scale."""
    if given is None:
        return None
    kind, _, scale = given.partition(":")
    try:
        number = float(scale)
    except ValueError:
        raise rejected("added", given, "KIND:SCALE, as discrete-laplace:4") from None
    return AddedNoise(kind=kind, scale=number)  # type: ignore[arg-type]


def _show(bound: Bound, *, as_json: bool) -> None:
    if as_json:
        print_json(bound.to_dict())
    else:
        click.echo(bound_text(bound))


# ------------------------------------------------------------------------------- all analyses


def _compare(asked: Asked, n: Any, delta: float, *, slow: bool, as_json: bool) -> None:
    if asked.view != "messages" or asked.rounds is not None:
        raise rejected("analysis", asked.analysis, "one round of messages, to compare analyses of")
    source = source_from_dict(asked.description)
    account = shuffle(source, _needed(n), trust=asked.trust)
    with progress(f"all analyses of {asked.label}"):
        found = account.compare(delta=delta, slow=slow)
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(f"{asked.label}")
    click.echo(str(found))
    click.echo(
        "\nfactor: eps over the smallest upper end (for lower ends, the largest over eps); "
        "seconds of CPU.\nEstimates certify nothing. Theorems and validity: list theorems -v"
    )


def _refuse_curve(curve: str | None, plot: str | None) -> None:
    for name, value in (("curve", curve), ("plot", plot)):
        if value is not None:
            raise rejected(name, value, "none with --analysis all")


# ------------------------------------------------------------------------------------- curves


@dataclass(frozen=True)
class Ends:
    """Where a curve begins and ends, and its points; None is for the command to choose."""

    first: Any
    last: Any
    points: int


def _ends(curve: str | None, kind: click.ParamType) -> Ends:
    """FROM:TO or FROM:TO:POINTS, as it is typed."""
    if curve is None or curve == _AUTO:
        return Ends(None, None, _POINTS)
    parts = curve.split(":")
    if len(parts) not in {2, 3}:
        raise rejected("curve", curve, "FROM:TO or FROM:TO:POINTS")
    option = click.Option(["--curve"])
    first, last = (kind.convert(part, option, None) for part in parts[:2])
    points = Whole().convert(parts[2], option, None) if len(parts) == 3 else _POINTS
    return Ends(first, last, _check.count("curve points", points, low=2, high=10_000))


def _over_epsilon(asked: Asked, account: Any, ends: Ends) -> tuple[list[float], list[Bound]]:
    """delta at equally spaced eps."""
    low = _check.epsilon("curve from", 0.0 if ends.first is None else ends.first)
    stop = ends.last
    if stop is None:
        # The interesting part ends where delta is smaller than anybody's target.
        reach = account.epsilon(delta=1e-12, **asked.named()).upper
        stop = max(reach, low + 1e-3) if math.isfinite(reach) else low + 10.0
    high = _check.epsilon("curve to", stop)
    _ordered(low, high)
    xs = [low + (high - low) * i / (ends.points - 1) for i in range(ends.points)]
    return xs, account.profile(xs, **asked.named())


def points_over_users(at: Callable[[int], Bound], ends: Ends) -> tuple[list[float], list[Bound]]:
    """Numbers of users in equal ratios, and what is certified at each."""
    low = _check.count("curve from", _FEWEST if ends.first is None else ends.first)
    high = _check.count("curve to", max(_MOST, 10 * low) if ends.last is None else ends.last)
    _ordered(low, high)
    ratio = math.log(high / low) / (ends.points - 1)
    steps = {min(high, max(low, round(low * math.exp(ratio * i)))) for i in range(ends.points)}
    xs = sorted(steps)
    return [float(n) for n in xs], [at(n) for n in xs]


def _ordered(low: float, high: float) -> None:
    if not low < high:
        raise ParameterError(f"curve to = {high!r}: wanted more than from = {low!r}")


def _show_curve(
    label: str,
    work: Callable[[], tuple[list[float], list[Bound]]],
    *,
    plot: str | None,
    marked: int | None,
    as_json: bool,
) -> None:
    """A curve as CSV or JSON on stdout, and as a picture."""
    with files_written([("plot", plot)]) as held:
        with progress(f"curve of {label}"):
            xs, bounds = work()
        if plot is not None:
            from shuffledp import plots
            from shuffledp.drawing.bands import draw_curve

            at = bounds[0].at
            over_users = bounds[0].quantity == "epsilon"
            fixed = f"delta = {_check.exact(at['delta'])}" if over_users else f"n = {at['n']:,}"
            said = f"{label}, {fixed}"
            drawn = plots.picture(lambda ax: draw_curve(ax, xs, bounds, label=said, marked=marked))
            plots.save(drawn, held.path(plot))
    if as_json:
        print_json([bound.to_dict() for bound in bounds])
    else:
        _print_csv(bounds)
    if plot is not None:
        click.echo(f"wrote {plot}", err=True)


def _print_csv(bounds: Sequence[Bound]) -> None:
    if bounds[0].quantity == "epsilon":
        click.echo("n,epsilon_lower,epsilon_upper")
        for bound in bounds:
            click.echo(f"{bound.at['n']},{bound.lower!r},{bound.upper!r}")
        return
    click.echo("epsilon,delta_lower,delta_upper,log10_delta_lower,log10_delta_upper")
    for bound in bounds:
        logs = [_log10(bound.log_lower, up=False), _log10(bound.log_upper, up=True)]
        ends = [repr(bound.lower), repr(bound.upper)]
        click.echo(",".join([repr(bound.at["epsilon"]), *ends, *logs]))


def _log10(log: float | None, *, up: bool) -> str:
    if log is None or math.isinf(log):
        return "-inf"
    return repr(math.nextafter(log / math.log(10.0), math.inf if up else -math.inf))


def _curve_options(over: str) -> tuple[click.Option, ...]:
    return (
        click.Option(
            ["--curve"],
            is_flag=False,
            flag_value=_AUTO,
            metavar="FROM:TO[:POINTS]",
            help=f"Print a curve over {over} as CSV; alone it chooses the ends.",
        ),
        click.Option(["--plot"], metavar="FILE", help="Draw the curve: .png, .svg or .pdf."),
    )


epsilon = MechanismCommand(
    "epsilon",
    _epsilon,
    summary="eps at a given delta: certified lower and upper end.",
    example="shuffledp epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6",
    options=(
        click.Option(["-n", "--n"], type=Whole(), help="Users in the shuffle."),
        click.Option(
            ["--delta"], type=Number(), required=True, help="Target delta, 0 < delta < 1."
        ),
        ROUNDS,
        click.Option(
            ["--analysis"],
            metavar="NAME",
            help="One analysis in place of the best; 'all' compares every one, 'all-slow' also "
            "algorithms whose cost grows with n (see: shuffledp list theorems).",
        ),
        *VIEW,
        *_curve_options("n"),
        TRUST,
        JSON,
    ),
)
delta = MechanismCommand(
    "delta",
    _delta,
    summary="delta at a given eps: certified lower and upper end.",
    example="shuffledp delta k-rr --k 10 --eps0 4 -n 10000 --epsilon 0.5",
    options=(
        click.Option(["-n", "--n"], type=Whole(), help="Users in the shuffle."),
        click.Option(["--epsilon"], type=Number(), help="eps >= 0, in nats."),
        ROUNDS,
        click.Option(
            ["--analysis"],
            metavar="NAME",
            help="One analysis in place of the best (see: shuffledp list theorems).",
        ),
        *VIEW,
        *_curve_options("eps"),
        TRUST,
        JSON,
    ),
)
