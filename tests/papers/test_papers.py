"""The papers' tables once more: formulas against the library's laws, and the scripts' helpers."""

import csv
import importlib
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import shuffledp as sd
from papers import common, shuffle_index, su_decomposition, wang_variation_ratio

ROOT = Path(__file__).resolve().parents[2]
SHOWN = ROOT / "docs" / "figures" / "papers"
SCRIPTS = sorted(path.stem for path in (ROOT / "papers").glob("[a-z]*.py") if path.stem != "common")


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_laws_of_g_are_the_tables_of_su_et_al(tmp_path):
    su_decomposition.laws(tmp_path)
    found = rows(tmp_path / "su_tables_1_2.csv")
    assert len(found) == 20
    for row in found:
        by_library, by_formula = float(row["mass (library)"]), float(row["mass (formula)"])
        assert by_library == pytest.approx(by_formula, rel=2e-6, abs=1e-12)


def test_total_variations_are_those_of_the_formulas(tmp_path):
    wang_variation_ratio.parameters(tmp_path)
    found = rows(tmp_path / "wang_table2.csv")
    assert len(found) == 8
    for row in found:
        by_law = float(row["TV (from the law, rounded up)"])
        assert by_law == pytest.approx(float(row["TV in closed form"]), rel=2e-5)
        assert float(row["q"]) == pytest.approx(math.exp(2.0), rel=1e-5)


def test_indices_are_those_of_the_formulas(tmp_path):
    shuffle_index.indices(tmp_path)
    for row in rows(tmp_path / "index_table1.csv"):
        assert float(row["chi_lo (from the law)"]) == pytest.approx(
            float(row["chi_lo (formula)"]), rel=1e-4
        )
        assert float(row["chi_up (from the law)"]) == pytest.approx(
            float(row["chi_up (formula)"]), rel=1e-4
        )
        assert float(row["chi_lo/chi_up"]) <= 1.0 + 1e-12


def test_a_figure_is_drawn_with_its_numbers(tmp_path):
    lines = (
        common.Line("blanket", "blanket", common.BLACK, thick=True),
        common.Line("dataset", "lower", common.ORANGE, end="lower"),
        common.Line("gaussian", "Gaussian", common.GREEN, end="estimate"),
        common.Line("efmrtt19", "Erlingsson et al.", common.GREY),
    )
    panel = common.panel_over(
        "10-RR", "n", [50, 500], lambda n: (sd.shuffle(sd.KRR(k=10, eps0=1.0), n=n), None), lines,
        delta=1e-4,
    )  # fmt: skip
    png, numbers = common.draw(tmp_path, "test", "a title", [panel])
    assert png.stat().st_size > 5000
    first, second = rows(numbers)
    assert float(first["lower"]) <= float(first["blanket"])
    assert float(second["blanket"]) < float(first["blanket"])
    assert first["Erlingsson et al."] == ""  # eps0 = 1 is outside its domain


def test_a_curve_without_points_has_no_entry_and_one_beyond_the_axes_is_marked():
    empty, clipped = common.Line("a", "empty", common.BLUE), common.Line("b", "far", common.GREEN)
    panel = common.Panel("t", [1.0, 2.0], "x", "y", ylim=(1.0, 10.0))
    panel.curves = [(empty, [math.nan] * 2), (clipped, [5.0, 50.0])]
    axes = Figure().add_subplot()
    common._draw(axes, panel)
    handles, labels = axes.get_legend_handles_labels()
    assert labels == ["far", common.CLIPPED]
    assert [list(line) for line in handles[1].get_data()] == [[2.0], [10.0]]


PICTURES = {
    "feldman_fig2": (
        "any mechanism, lower end, our evaluation",
        "any mechanism, upper end, our evaluation",
    ),
    "feldman_fig3": (
        "any mechanism, lower end, our evaluation",
        "any mechanism, upper end, our evaluation",
    ),
    "feldman_krr": ("certified lower end, our evaluation", "blanket, exact, our evaluation"),
    # log2 of eps' over it: the lower end of eps is the larger
    "wang_fig3": ("upper end, our evaluation", "lower end, our evaluation"),
    "su_fig2": ("lower end, our evaluation", "upper end, our evaluation"),
    "su_fig3": ("lower end, our evaluation", "optimal decomposition"),
    "su_fig4": ("lower bound, all others a third value", "upper end, our evaluation"),
    "index_fig4b": ("directly, lower end, our evaluation", "directly, upper end, our evaluation"),
    "index_band_a": ("certified lower end, our evaluation", "blanket, our evaluation"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_committed_figures_have_their_numbers(name):
    """Each picture of docs/papers.md has a CSV beside it, and lower ends below upper ends in it."""
    lower, upper = PICTURES[name]
    assert (SHOWN / f"{name}.png").exists()
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
    assert len(shown) > 20
    assert shown == {path.stem for path in SHOWN.glob("*.png")}
    assert all((SHOWN / f"{name}.csv").exists() for name in shown)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_write_where_out_says_and_nothing_tracked_without_it(name, tmp_path, monkeypatch):
    script = importlib.import_module(f"papers.{name}")
    written = []

    def main(out):
        written.append(out.resolve())
        assert out.is_dir()

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name])
    script.run(main, script.__doc__)
    monkeypatch.setattr(sys, "argv", [name, "--out", str(tmp_path / "a" / "b")])
    script.run(main, script.__doc__)
    assert written == [tmp_path / "out" / "papers", tmp_path / "a" / "b"]
    # Nothing but the directory handed over decides where the script writes.
    source = Path(script.__file__).read_text(encoding="utf-8")
    assert "run(main, __doc__)" in source
    assert '"figures"' not in source
    assert "OUT" not in source.replace("--out", "")


def test_out_that_is_a_file_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("kept")
    found = subprocess.run(
        [sys.executable, "-m", "papers.shuffle_index", "--out", str(tmp_path / "file")],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert "--out" in found.stderr
    assert (tmp_path / "file").read_text() == "kept"
