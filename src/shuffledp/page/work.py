"""The answers themselves, worked out in a process of its own, which can be ended at any time.

A request is a line of JSON on stdin, the answer a line on stdout. Every text that shows a number
is made here, by the functions that make the command line's.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from shuffledp import _check
from shuffledp.accounts import shuffle
from shuffledp.bound import Bound, outward
from shuffledp.cli.files import report_of
from shuffledp.cli.mechanisms import mechanism_label, source_from_dict
from shuffledp.cli.text import bound_text, end_text
from shuffledp.errors import (
    NotCertified,
    ParameterError,
    ShuffleDPError,
    not_installed,
)
from shuffledp.page.form import Question, number, points, question

# Digits of an end: those of `shuffledp epsilon`.
_DIGITS = 8
# A request needs some hundred megabytes at most; one that wants more than this is refused.
_MOST_BYTES = 6 << 30
# The desk ends what takes too long; if the desk is gone, the system does, so much later (s).
_GRACE = 5
# A curve reaches this factor below and above n.
_REACH = 100.0
# Reports of sums up to which a curve is drawn: a number takes a second or two there.
_MOST_SUMMED = 20_000

Fields = Mapping[str, str]


def answer(fields: Fields) -> dict[str, Any]:
    """Both ends of eps for the form as it is, as the command line prints them."""
    ask = question(fields)
    source = source_from_dict(ask.description)
    bound = _epsilon(_accounts(ask, source), ask)
    return {
        "label": mechanism_label(source.to_dict()),
        "lower": end_text(bound, up=False, digits=_DIGITS),
        "upper": end_text(bound, up=True, digits=_DIGITS),
        "text": bound_text(bound),
        "odds": _odds(bound),
        "view": ask.view["view"],
        "theorems": [
            {"end": end, **theorem.to_dict()}
            for end, theorem in (("upper", bound.upper_theorem), ("lower", bound.lower_theorem))
            if theorem is not None
        ],
        "assumptions": list(bound.assumptions),
        "notes": list(bound.notes),
        "rtol": ask.rtol,
        "command": ask.command,
    }


def curve(fields: Fields) -> dict[str, Any]:
    """eps with both ends over n, a factor of a hundred below and above the form's n."""
    count = points(fields)
    ask = question({key: value for key, value in fields.items() if key != "points"})
    source = source_from_dict(ask.description)
    accounts = _accounts(ask, source)
    n = _check.count("n", ask.n)
    low = max(1, math.floor(n / _REACH))
    most = _check.LARGEST_COUNT
    if ask.view["view"] == "sums":
        # Of bits all data sets are searched for up to so many reports.
        most = max(n, _MOST_SUMMED)
    high = min(most, max(low + 1, math.ceil(n * _REACH)))
    ratio = math.log(high / low) / (count - 1)
    steps = {min(high, max(low, round(low * math.exp(ratio * i)))) for i in range(count)} | {n}
    rows = []
    for step in sorted(steps):
        bound = _on_curve(accounts(step), ask)
        rows.append(
            {
                "n": step,
                "n_text": f"{step:,}",
                "lower": bound.lower,
                "upper": bound.upper if math.isfinite(bound.upper) else None,
                "lower_text": end_text(bound, up=False, digits=4),
                "upper_text": end_text(bound, up=True, digits=4),
            }
        )
    return {"n": n, "rows": rows, "rtol": ask.rtol}


def _on_curve(account: Any, ask: Question) -> Bound:
    """Both ends at one n; of sums those of a certificate, which take a second where others ten."""
    if ask.view["view"] == "sums":
        return account.seen.bound("epsilon", ask.delta, recomputed=True)
    return account.epsilon(delta=ask.delta, **_analysis(ask))


def compare(fields: Fields) -> dict[str, Any]:
    """Mechanisms for one kind of data at the same central eps: `shuffledp plan`."""
    from shuffledp.planner import make_task, plan

    known = ("n", "delta", "epsilon", "domain")
    for key, value in fields.items():
        if key not in known:
            raise ParameterError(f"{key} = {value!r}: no such field, but one of {', '.join(known)}")
    values = number("domain", fields, whole=True)
    task = (
        make_task("mean", low=0.0, high=1.0)
        if values is None
        else make_task("frequencies", values=values)
    )
    found = plan(
        task,
        n=number("n", fields, whole=True),
        delta=number("delta", fields),
        epsilon=number("epsilon", fields),
    )
    sheet = found.sheet()
    return {
        "title": sheet.caption,
        "cells": [sheet.head, *sheet.rows],
        "left_out": [f"{name}: {why}" for name, why in found.left_out],
        "text": str(found),
    }


def deployment(fields: Fields) -> dict[str, Any]:
    """The deployment file that says the same, for `shuffledp account`."""
    try:
        from shuffledp.deployment.text import deployment_text
    except ImportError as error:
        missing = [(error.name or "pydantic").split(".")[0]]
        raise NotCertified(not_installed("a deployment file", missing, "account")) from None
    ask = question(fields)
    source = source_from_dict(ask.description)
    n, label = _check.count("n", ask.n), mechanism_label(source.to_dict())
    tables = {
        "title": f"{label}, {n:,} users",
        **_view_tables(ask.view),
        "population": {"users": n},
        "randomizer": source.to_dict(),
        "target": {"delta": ask.delta},
        "accounting": {"trust": ask.trust, "rounds": ask.rounds},
    }
    head = ""
    if ask.analysis is not None:
        head = f"# account takes the best analysis that applies, not {ask.analysis!r} alone\n\n"
    return {"toml": deployment_text(tables, head=head)}


def _view_tables(view: Mapping[str, Any]) -> dict[str, Any]:
    """What the analyst sees, as a deployment file says it: of messages nothing."""
    if view["view"] == "messages":
        return {}
    added = view["added"]
    return {**view, "added": added.to_dict()} if added else {k: v for k, v in view.items() if v}


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


def _accounts(ask: Question, source: Any) -> Callable[[Any], Any]:
    """The account for any n, after all rounds."""
    asked = {"rtol": ask.rtol, "rounds": ask.rounds, "trust": ask.trust, **ask.view}
    return lambda n: shuffle(source, n, **asked)


def _epsilon(accounts: Callable[[Any], Any], ask: Question) -> Bound:
    return accounts(ask.n).epsilon(delta=ask.delta, **_analysis(ask))


def _analysis(ask: Question) -> dict[str, str]:
    if ask.analysis is None:
        return {}
    if ask.rounds > 1:
        raise ParameterError(f"analysis = {ask.analysis!r}: wanted none with several rounds")
    return {"analysis": ask.analysis}


def _odds(bound: Bound) -> str:
    """What eps means: by how much what is seen can move anybody's odds, apart from delta."""
    if not bound.upper < 700.0:  # e^700 is near the largest float
        return ""
    factor = math.nextafter(math.exp(bound.upper) * (1.0 + 1e-15), math.inf)
    return outward(factor, up=True, digits=4)


# ------------------------------------------------------------------------------------- the process


def reply(kind: str, fields: Fields) -> dict[str, Any]:
    """The answer, or one line that says why there is none, with its HTTP status."""
    try:
        started = time.perf_counter()
        body = KINDS[kind](fields)
        body["seconds"] = round(time.perf_counter() - started, 3)
    except ParameterError as error:
        return {"status": 400, "body": {"error": _line(error)}}
    except ShuffleDPError as error:
        return {"status": 422, "body": {"error": _line(error)}}
    except MemoryError:
        return {"status": 422, "body": {"error": "out of memory: wanted something smaller"}}
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like an answer)
        words = f"internal error: {type(error).__name__}: {_line(error)}"
        return {"status": 500, "body": {"error": words[:300]}}
    return {"status": 200, "body": body}


def main() -> None:
    """Answer until stdin ends."""
    _bounded()
    # Whatever is printed by a library must not get between the answers.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    sys.stdout = sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        _alarm(asked["seconds"] + _GRACE)
        found = reply(asked["kind"], asked["fields"])
        _alarm(0)
        try:
            text = json.dumps(found, allow_nan=False)
        except ValueError:
            text = json.dumps({"status": 500, "body": {"error": "internal error: not a number"}})
        out.write(text + "\n")
        out.flush()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _bounded() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _MOST_BYTES if hard == resource.RLIM_INFINITY else min(_MOST_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
