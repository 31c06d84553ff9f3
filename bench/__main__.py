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
        choices=("measure", "figures", "baselines", "throughput"),
        help="measure (default): print the benchmark; figures: write the pictures and the tables "
        "of README.md and docs/; baselines: the papers' own algorithms against ours (minutes); "
        "throughput: reports a second (also part of measure)",
    )
    parser.add_argument("--full", action="store_true", help="many more runs, up to 20 minutes")
    parser.add_argument("--out", type=Path, help="also write the report to this file")
    given = parser.parse_args()
    if given.what == "figures":
        from bench import documents, ends_meet, figures, printed

        for path in [
            *figures.write(), *ends_meet.write(), *documents.write(), *printed.write()
        ]:  # fmt: skip
            print(path)
        return
    if given.what == "baselines":
        from bench import baselines

        text = baselines.report()
    else:
        from bench import throughput
        from bench.report import report

        text = throughput.report()
        if given.what == "measure":
            text = report(full=given.full) + "\n\n" + text
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
