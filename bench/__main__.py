"""Measure, or write the figures and tables of the documentation."""

import argparse


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="measure",
        choices=("measure", "figures", "tables"),
        help="measure (default): print what answers cost; figures: write the pictures and the "
        "tables of README.md and docs/; tables: the tables alone",
    )
    parser.add_argument("--full", action="store_true", help="more runs, up to 20 minutes")
    given = parser.parse_args()
    if given.what == "measure":
        from bench import measure

        budget = 1100.0 if given.full else 300.0
        print(measure.report(measure.questions(), runs=9 if given.full else 3, budget=budget))
        return
    from bench import documents, ends_meet, figures

    drawn = [*figures.write(), *ends_meet.write()] if given.what == "figures" else []
    for path in [*drawn, *documents.write()]:
        print(path)


if __name__ == "__main__":
    main()
