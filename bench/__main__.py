"""Command line of the benchmarks."""

import argparse
import sys
from pathlib import Path


def main() -> None:
    """Measure, or write the figures and tables of the documentation."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="measure",
        choices=("measure", "figures", "tables", "throughput", "views"),
        help="measure (default): print the benchmark; figures: write the pictures and the tables "
        "of README.md and docs/; tables: the tables alone; "
        "throughput: reports a second; views: sums, crowds, shufflers, batches (these two are "
        "also part of measure)",
    )
    parser.add_argument("--full", action="store_true", help="many more runs, up to 20 minutes")
    parser.add_argument("--out", type=Path, help="also write the report to this file")
    given = parser.parse_args()
    if given.what == "figures":
        from bench import documents, ends_meet, figures

        for path in [*figures.write(), *ends_meet.write(), *documents.write()]:
            print(path)
        return
    if given.what == "tables":
        from bench import documents

        for path in documents.write():
            print(path)
        return
    if given.what == "views":
        from bench import views

        text = views.report(limit=120.0, budget=600.0)
    else:
        from bench import engine, throughput, views

        text = throughput.report()
        if given.what == "measure":
            others = views.report(limit=30.0, budget=1100.0 if given.full else 120.0)
            answers = engine.report(
                rounds=9 if given.full else 3, limit=30.0, budget=1100.0 if given.full else 200.0
            )
            text = answers + "\n\n" + others + "\n\n" + text
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
