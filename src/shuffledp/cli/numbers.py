"""``shuffledp epsilon``, ``delta`` and ``curve``: numbers for one mechanism."""

from __future__ import annotations

import math
from typing import Any

import click

from shuffledp import _check
from shuffledp.bound import Bound, large_delta_words
from shuffledp.cli.mechanisms import Request, per_mechanism
from shuffledp.cli.progress import progress
from shuffledp.cli.text import bound_text, print_json, say_unshown
from shuffledp.cli.types import Number, Whole
from shuffledp.cli.writing import files_written
from shuffledp.errors import ParameterError, rejected
from shuffledp.randomizers import Randomizer
from shuffledp.views import MESSAGES_RTOL, VIEWS, AddedNoise, shuffle

_N = click.Option(["-n", "--n"], type=Whole(), required=True, help="Users in the shuffle.")
_DELTA = click.Option(
    ["--delta"], type=Number(), required=True, help="Target delta, 0 < delta < 1."
)
_ANALYSIS = click.Option(
    ["--analysis"], help="One analysis alone in place of the best (see: shuffledp analyses)."
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
_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON and nothing else.")


def _epsilon(
    request: Request, *, delta: float, analysis: str | None, as_json: bool, **view: Any
) -> None:
    accountant = _viewed(request, analysis, **view)
    with progress(f"eps of {request.label}"):
        bound = accountant.epsilon(delta=delta, **_named(analysis))
    warn_of_delta(delta, request.n)
    _show(bound, as_json=as_json)


def _delta(
    request: Request, *, epsilon: float, analysis: str | None, as_json: bool, **view: Any
) -> None:
    accountant = _viewed(request, analysis, **view)
    with progress(f"delta of {request.label}"):
        bound = accountant.delta(epsilon=epsilon, **_named(analysis))
    warn_of_delta(bound.upper, request.n)
    _show(bound, as_json=as_json)


def warn_of_delta(delta: float, n: Any) -> None:
    """The warning of ``account``, on stderr, where delta is above 1/n."""
    words = large_delta_words(delta, int(n))
    if words:
        click.echo(f"warning[large-delta]: {words}", err=True)


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


def _viewed(
    request: Request,
    analysis: str | None,
    *,
    view: str,
    ones: int,
    relation: str,
    added: str | None,
) -> Any:
    """The accountant of what the analyst sees."""
    noise = added_noise(added)
    messages: Any = request.build(request.n)
    asked: dict[str, Any] = {"view": view, "ones": ones, "relation": relation, "added": noise}
    if view == "sums":
        if analysis is not None:
            raise rejected("analysis", analysis, "none with sums, of which there is one")
        if not isinstance(messages.source, Randomizer):
            raise rejected("view", view, "messages, for anything but a randomizer")
        # The width that a round of messages is computed to is not worth the time here.
        rtol = None if messages.rtol == MESSAGES_RTOL else messages.rtol
        return shuffle(messages.source, messages.n, rtol=rtol, trust=messages.trust, **asked)
    if ones != 1 or relation != "replace-one" or noise is not None:
        raise rejected("view", view, "sums, for --ones, --relation and --added to mean something")
    return messages


def _named(analysis: str | None) -> dict[str, str]:
    return {} if analysis is None else {"analysis": analysis}


def _show(bound: Bound, *, as_json: bool) -> None:
    if as_json:
        print_json(bound.to_dict())
    else:
        click.echo(bound_text(bound))


epsilon = per_mechanism(
    "epsilon",
    _epsilon,
    summary="eps at a given delta: certified lower and upper end.",
    example="shuffledp epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6",
    options=(_N, _DELTA, _ANALYSIS, *VIEW, _JSON),
)
delta = per_mechanism(
    "delta",
    _delta,
    summary="delta at a given eps: certified lower and upper end.",
    example="shuffledp delta k-rr --k 10 --eps0 4 -n 10000 --epsilon 0.5",
    options=(
        _N,
        click.Option(["--epsilon"], type=Number(), required=True, help="eps >= 0, in nats."),
        _ANALYSIS,
        *VIEW,
        _JSON,
    ),
)


def _curve(
    request: Request,
    *,
    over: str,
    delta: float | None,
    start: float | None,
    stop: float | None,
    points: int,
    plot: str | None,
    analysis: str | None,
    as_json: bool,
) -> None:
    _check.choice("over", over, ("epsilon", "n"))
    points = _check.count("points", points, low=2, high=10_000)
    if plot is not None:
        from shuffledp.cli.extras import load_plots

        load_plots().check_suffix("plot", plot)
    sweep = _over_n if over == "n" else _over_epsilon
    with files_written([("plot", plot)]) as held:
        xs, bounds = sweep(request, delta, start, stop, points=points, analysis=analysis)
        if plot is not None:
            from shuffledp.cli.extras import load_plots

            plots = load_plots()
            marked = request.n if over == "n" else None
            drawn = plots.curve_figure(xs, bounds, title=request.label, marked=marked)
            say_unshown(plots.save(drawn, held.path(plot)))
    if as_json:
        print_json([bound.to_dict() for bound in bounds])
    else:
        _print_csv(over, bounds)
    if plot is not None:
        click.echo(f"wrote {plot}", err=True)


def _over_epsilon(
    request: Request,
    delta: float | None,
    start: float | None,
    stop: float | None,
    *,
    points: int,
    analysis: str | None,
) -> tuple[list[float], list[Bound]]:
    if request.n is None:
        raise ParameterError("n is missing: wanted -n, the users in the shuffle")
    if delta is not None:
        raise ParameterError(
            f"delta = {delta!r}: wanted with --over n only; delta is what is plotted"
        )
    accountant = request.build(request.n)
    low = _check.epsilon("from", 0.0 if start is None else start)
    with progress(f"profile of {request.label}"):
        if stop is None:
            # The interesting part ends where delta is smaller than anybody's target.
            reach = accountant.epsilon(delta=1e-12, analysis=analysis).upper
            stop = max(reach, low + 1e-3) if math.isfinite(reach) else low + 10.0
        high = _check.epsilon("to", stop)
        _ordered(low, high)
        xs = [low + (high - low) * i / (points - 1) for i in range(points)]
        return xs, accountant.profile(xs, analysis=analysis)


def _over_n(
    request: Request,
    delta: float | None,
    start: float | None,
    stop: float | None,
    *,
    points: int,
    analysis: str | None,
) -> tuple[list[float], list[Bound]]:
    if delta is None:
        raise ParameterError("delta is missing: wanted --delta with --over n")
    delta = _check.open_unit("delta", delta)
    if request.n is not None:
        _check.count("n", request.n)
    low = _check.count("from", 100 if start is None else start)
    high = _check.count("to", max(1_000_000, 10 * low) if stop is None else stop)
    _ordered(low, high)
    ratio = math.log(high / low)
    steps = {
        min(high, max(low, round(low * math.exp(ratio * i / (points - 1))))) for i in range(points)
    }
    xs = sorted(steps)
    with progress(f"eps over n of {request.label}"):
        accountant = request.build(xs[0])
        return [float(n) for n in xs], [
            accountant.with_n(n).epsilon(delta=delta, analysis=analysis) for n in xs
        ]


def _ordered(low: float, high: float) -> None:
    if not low < high:
        raise ParameterError(f"to = {high!r}: wanted more than from = {low!r}")


def _print_csv(over: str, bounds: list[Bound]) -> None:
    if over == "n":
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


_NUMBER: dict[str, Any] = {"type": Number()}
curve = per_mechanism(
    "curve",
    _curve,
    summary="A curve as CSV or picture: delta over eps at given n, or eps over n at given delta.",
    example="shuffledp curve k-rr --k 10 --eps0 4 --over n --delta 1e-6 --plot eps.png",
    options=(
        click.Option(
            ["-n", "--n"], type=Whole(), help="Users in the shuffle (marked with --over n)."
        ),
        click.Option(
            ["--over"],
            default="epsilon",
            show_default=True,
            metavar="epsilon|n",
            help="What varies.",
        ),
        click.Option(["--delta"], help="Target delta, with --over n.", **_NUMBER),
        click.Option(["--from", "start"], help="First eps or n.", **_NUMBER),
        click.Option(["--to", "stop"], help="Last eps or n.", **_NUMBER),
        click.Option(["--points"], type=Whole(), default=41, show_default=True, help="How many."),
        click.Option(["--plot"], metavar="FILE", help="Draw it too: .png, .svg or .pdf."),
        _ANALYSIS,
        _JSON,
    ),
)
