"""The figures of papers: the helpers that draw them, and the numbers that are kept."""

import csv
import math
import re
from pathlib import Path

import pytest

import shuffledp as sd
from papers import draw

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ROOT / "docs" / "figures" / "papers"


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_figure_is_drawn_with_its_numbers(tmp_path):
    lines = (
        draw.Line("blanket", "blanket", draw.BLACK, thick=True),
        draw.Line("dataset", "lower", draw.ORANGE, end="lower"),
        draw.Line("gaussian", "Gaussian", draw.GREEN, end="estimate"),
        draw.Line("efmrtt19", "Erlingsson et al.", draw.GREY),
    )
    accounts = [sd.shuffle(sd.KRR(k=10, eps0=1.0), n=n) for n in (50, 500)]
    values = [[draw.epsilon_of(acc, line, 1e-4) for line in lines] for acc in accounts]
    panel = draw.Panel("10-RR", [50, 500], "n").add(lines, values)
    png, numbers = draw.draw(tmp_path, "test", "a title", [panel])
    assert png.stat().st_size > 5000
    first, second = rows(numbers)
    assert float(first["lower"]) <= float(first["blanket"])
    assert float(second["blanket"]) < float(first["blanket"])
    assert first["Erlingsson et al."] == ""  # eps0 = 1 is outside its domain
    assert math.isnan(values[0][3])


PICTURES = {
    "feldman_fig2": (
        "any mechanism, lower end, our evaluation",
        "any mechanism, upper end, our evaluation",
    ),
    # log2 of eps' over it: the lower end of eps is the larger
    "wang_fig3": ("upper end, our evaluation", "lower end, our evaluation"),
    "su_fig2": ("lower end, our evaluation", "upper end, our evaluation"),
    "su_fig3": ("lower end, our evaluation", "optimal decomposition"),
    "su_fig4": ("lower bound, all others a third value", "upper end, our evaluation"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_lower_ends_of_kept_figures_are_below_upper_ends(name):
    lower, upper = PICTURES[name]
    compared = 0
    for row in rows(SHOWN / f"{name}.csv"):
        if row[lower] and row[upper]:
            compared += 1
            assert float(row[lower]) <= float(row[upper]) * (1 + 1e-5)
    assert compared >= 10


def test_every_picture_of_the_page_exists_and_no_other():
    """With its CSV; pictures that no page shows are not kept."""
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"figures/papers/(\w+)\.png", page))
    assert len(shown) == 13
    assert shown == {path.stem for path in SHOWN.glob("*.png")}
    assert shown | {"printed", "printed_times"} == {path.stem for path in SHOWN.glob("*.csv")}
