"""What the upper end by label stealing, or by all data sets, costs beside the blanket's."""

from __future__ import annotations

from typing import Any

import shuffledp as sd
from bench import cases
from bench.timing import Cell

COUNTS = (10**4, 10**6)
HEAD = """\
CPU time of one certified eps from a fresh object, in turn: medians of {rounds} runs. `default`:
both ends. `both`: the blanket's upper end, and then the lower end by `dataset`. The target is for
default : blanket, where the blanket's is the upper end alone.
"""


def mechanisms() -> dict[str, sd.Randomizer]:
    """Those of which the default upper end is not the blanket's, or was asked whether it is."""
    eps0 = cases.EPS0
    listed = cases.tabulated()
    return {
        "binary-rr": listed["binary-rr"],
        "binary-rr, eps0 = 12": sd.BinaryRR(eps0=12.0),
        "duchi": listed["duchi"],
        "rappor": listed["rappor"],
        "rappor, d = 10": sd.RAPPOR(d=10, eps0=eps0),
        **{name: listed[name] for name in ("oue", "blh", "subset", "channel", "hybrid")},
        **{name: listed[name] for name in ("sampling-rappor", *cases.CONTINUOUS)},
    }


def cells() -> dict[Any, Cell]:
    """Every mechanism, count and way; each from a fresh object."""
    found = {}
    for n in COUNTS:
        for name, r in mechanisms().items():
            for way in ("default", "blanket", "dataset"):
                found[name, n, way] = Cell(_run(r, n, None if way == "default" else way))
    return found


def _run(r: sd.Randomizer, n: int, analysis: str | None) -> Any:
    return lambda: sd.shuffle(r, n=n).epsilon(delta=cases.usual_delta(n), analysis=analysis)


def rows(measured: dict[Any, Cell]) -> list[list[str]]:
    """The table: milliseconds, and ratios of times of the same run."""
    head = ["mechanism", "target"]
    for n in COUNTS:
        short = f"{n:.0e}".replace("+0", "")
        head += [f"default, n = {short}", "blanket", "default : blanket", "default : both"]
    found = [head]
    for name in mechanisms():
        row = [name, f"{cases.SHARPER_TARGETS[name in cases.CONTINUOUS]:g}"]
        for n in COUNTS:
            ways = (measured[name, n, way].median for way in ("default", "blanket", "dataset"))
            default, blanket, dataset = ways
            if default is None or blanket is None or dataset is None:
                row += ["-"] * 4
                continue
            row += [f"{1e3 * default:.0f} ms", f"{1e3 * blanket:.0f} ms"]
            row += [f"{default / blanket:.1f}", f"{default / (blanket + dataset):.1f}"]
        found.append(row)
    return found
