"""The answers themselves: every text that shows a number is made by the command line's functions.

``answered`` is what a process of ``desk`` runs.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from shuffledp import _check
from shuffledp.accounts.sources import source_from_dict
from shuffledp.bound import Bound, outward
from shuffledp.cli.files import report_of
from shuffledp.cli.mechanisms import mechanism_label
from shuffledp.cli.numbers import Ends, added_noise, points_over_users
from shuffledp.cli.text import bound_text, end_text
from shuffledp.cli.types import Number, Whole
from shuffledp.errors import ParameterError, ShuffleDPError, not_installed
from shuffledp.page.form import Question, question

# Digits of an end: those of `shuffledp epsilon`.
_DIGITS = 8
# Bytes of memory: a request needs some hundred megabytes, and one that wants more is refused.
_MOST_BYTES = 6 << 30
# A curve reaches this factor below and above n, and has at most this many points.
_REACH, MOST_POINTS = 100.0, 61
# Reports of sums up to which a curve is drawn: a number takes a second or two there.
_MOST_SUMMED = 20_000

Fields = Mapping[str, str]
Reply = tuple[int, dict[str, Any]]


def answer(fields: Fields) -> dict[str, Any]:
    """Both ends of eps for the form as it is, as the command line prints them."""
    ask = question(fields)
    bound = ask.asked.account(ask.n).epsilon(delta=ask.delta, **ask.asked.named())
    return {
        "lower": end_text(bound, up=False, digits=_DIGITS),
        "upper": end_text(bound, up=True, digits=_DIGITS),
        "text": bound_text(bound),
        "odds": _odds(bound),
        "view": ask.asked.view,
        "command": ask.command,
    }


def curve(fields: Fields) -> dict[str, Any]:
    """eps with both ends over n, a factor of a hundred below and above the form's n."""
    form = dict(fields)
    count = Whole().convert(form.pop("points", "9"), click.Option(["--points"]), None)
    count = _check.count("points", count, low=2, high=MOST_POINTS)
    ask = question(form)
    n = _check.count("n", ask.n)
    low = max(1, math.floor(n / _REACH))
    # The largest number of one-bit reports for which all data sets are searched.
    most = max(n, _MOST_SUMMED) if ask.asked.view == "sums" else _check.LARGEST_COUNT
    high = min(most, max(low + 1, math.ceil(n * _REACH)))
    ends = Ends(low, high, count)
    xs, bounds = points_over_users(lambda one: _on_curve(ask, one), ends)
    rows = [
        {
            "n": int(x),
            "n_text": f"{int(x):,}",
            "lower": bound.lower,
            "upper": bound.upper if math.isfinite(bound.upper) else None,
            "lower_text": end_text(bound, up=False, digits=4),
            "upper_text": end_text(bound, up=True, digits=4),
        }
        for x, bound in zip(xs, bounds, strict=True)
    ]
    return {"n": n, "rows": rows}


def _on_curve(ask: Question, n: int) -> Bound:
    """Both ends at one n; of sums those of a certificate, which take a second where others ten."""
    account = ask.asked.account(n)
    if ask.asked.view == "sums":
        return account.seen.bound("epsilon", ask.delta)
    return account.epsilon(delta=ask.delta, **ask.asked.named())


def compare(fields: Fields) -> dict[str, Any]:
    """Mechanisms for one kind of data at the same central eps: `shuffledp plan`."""
    from shuffledp.planner import make_task, plan

    kinds = {"n": Whole(), "delta": Number(), "epsilon": Number(), "domain": Whole()}
    for key, value in fields.items():
        if key not in kinds:
            raise ParameterError(f"{key} = {value!r}: no such field, but one of {', '.join(kinds)}")
    typed: dict[str, Any] = {
        key: kinds[key].convert(value.strip(), click.Option([f"--{key}"]), None)
        for key, value in fields.items()
        if value.strip()
    }
    values = typed.pop("domain", None)
    task = (
        make_task("mean", low=0.0, high=1.0)
        if values is None
        else make_task("frequencies", values=values)
    )
    wanted: list[Any] = [typed.get(key) for key in ("n", "delta", "epsilon")]
    n, delta, epsilon = wanted
    found = plan(task, n=n, delta=delta, epsilon=epsilon)
    sheet = found.sheet()
    return {
        "title": sheet.caption,
        "cells": [sheet.head, *sheet.rows],
        "left_out": [f"{name}: {why}" for name, why in found.left_out],
        "text": str(found),
    }


def deployment(fields: Fields) -> dict[str, Any]:
    """The deployment file that says the same, for `shuffledp account`."""
    from shuffledp.deployment.text import deployment_text

    ask = question(fields)
    asked, n = ask.asked, _check.count("n", ask.n)
    source = source_from_dict(asked.description).to_dict()
    rounds = 1 if asked.rounds is None else asked.rounds
    tables: dict[str, Any] = {"title": f"{mechanism_label(source)}, {n:,} users"}
    if asked.view != "messages":
        tables |= {"view": asked.view, "ones": asked.ones, "relation": asked.relation}
        added = added_noise(asked.added)
        tables |= {} if added is None else {"added": added.to_dict()}
    tables |= {
        "population": {"users": n},
        "randomizer": source,
        "target": {"delta": ask.delta},
        "accounting": {"trust": _check.trust(asked.trust), "rounds": rounds},
    }
    head = ""
    if asked.analysis is not None:
        head = f"# account takes the best analysis that applies, not {asked.analysis!r} alone\n\n"
    return {"toml": deployment_text(tables, head=head)}


def report(fields: Fields) -> dict[str, Any]:
    """The report to sign and the certificate of that file: `shuffledp account --report`."""
    text = deployment(fields)["toml"]
    html, certificate, upper = report_of(text, stem="deployment")
    return {
        "html": html,
        "certificate": certificate,
        "said": f"Certified: {upper}. Nobody has verified it yet: shuffledp verify does.",
    }


KINDS: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "epsilon": answer,
    "curve": curve,
    "compare": compare,
    "deployment": deployment,
    "report": report,
}


def _odds(bound: Bound) -> str:
    """What eps means: by how much what is seen can move anybody's odds, apart from delta."""
    if not bound.upper < 700.0:  # e^700 is near the largest float
        return ""
    factor = math.nextafter(math.exp(bound.upper) * (1.0 + 1e-15), math.inf)
    return outward(factor, up=True, digits=4)


def reply(kind: str, fields: Fields) -> Reply:
    """The answer, or one line that says why there is none, with its HTTP status."""
    try:
        started = time.perf_counter()
        body = KINDS[kind](fields)
        body["seconds"] = round(time.perf_counter() - started, 3)
    except click.ClickException as error:
        return 400, {"error": _line(error.format_message())}
    except ParameterError as error:
        return 400, {"error": _line(error)}
    except ShuffleDPError as error:
        return 422, {"error": _line(error)}
    except ModuleNotFoundError as error:
        return 422, {"error": not_installed("this answer", [str(error.name)], "all")}
    except MemoryError:
        return 422, {"error": "out of memory: wanted something smaller"}
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like an answer)
        words = f"internal error: {type(error).__name__}: {_line(error)}"
        return 500, {"error": words[:300]}
    return 200, body


def answered(pipe: Any, kind: str, fields: Fields, seconds: float) -> None:
    """Send the reply through a pipe, within bounds of memory and of CPU time (in seconds)."""
    # Whatever a library prints is nobody's answer.
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 (till the end)
    _bounded(math.ceil(seconds))
    pipe.send(reply(kind, fields))


def _line(error: object) -> str:
    return " ".join(str(error).split())


def _bounded(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    # If the server is gone, the system ends what nobody waits for.
    for limit, wanted in ((resource.RLIMIT_AS, _MOST_BYTES), (resource.RLIMIT_CPU, seconds + 1)):
        _, hard = resource.getrlimit(limit)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(limit, (most, hard))
