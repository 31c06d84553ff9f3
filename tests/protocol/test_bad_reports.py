"""Reports outside the message space: left out one by one, in linear time, on every mechanism."""

import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.protocol import read_reports, write_reports

N = 3000


def _whole(reports, bad):
    made = reports.astype(np.int64)
    made[bad] = -7 if reports.ndim == 1 else 10**6
    return made


def _nan(reports, bad):
    made = reports.astype(np.float64)
    made[bad] = np.nan
    return made


def _half(reports, bad):
    made = reports.astype(np.float64)
    made[bad] += 0.5
    return made


def _longer(reports, bad):
    made = reports.copy()
    made[bad] *= 3.0
    return made


def _choice(reports, bad):
    made = reports.copy()
    made["choice"][bad] = 9
    return made


def _field(name):
    def spoilt(reports, bad):
        kinds = [
            (key, "i8" if key == name else reports.dtype[key].base, reports.dtype[key].shape)
            for key in reports.dtype.names
        ]
        made = np.zeros(len(reports), dtype=kinds)
        for key in reports.dtype.names:
            made[key] = reports[key]
        made[name][bad] = 999
        return made

    return spoilt


def _reversed(reports, bad):
    made = reports.copy()
    made[bad] = made[bad][:, ::-1]
    return made


LETTERS = np.arange(N) % 5
SHARES = np.linspace(0.0, 1.0, N)
BOTH = np.stack([LETTERS, LETTERS % 3], axis=1)
CASES = {
    "k-rr": (sd.KRR(k=5, eps0=1.0), LETTERS, _whole),
    "olh": (sd.OLH(domain=5, eps0=1.0), LETTERS, _whole),
    "subset": (sd.SubsetSelection(d=5, eps0=0.5, k=2), LETTERS, _reversed),
    "laplace": (sd.Laplace(eps0=1.0), SHARES, _nan),
    "discrete-laplace": (sd.DiscreteLaplace(top=4, eps0=1.0), LETTERS, _half),
    "ball": (sd.GaussianBall(d=2, sigma=1.0), np.zeros((N, 2)), _nan),
    "privunit": (sd.PrivUnit(d=3, c=0.3, eps0=1.0), np.tile([1.0, 0.0, 0.0], (N, 1)), _longer),
    "joint": (sd.Joint((sd.KRR(k=5, eps0=1.0), sd.KRR(k=3, eps0=1.0))), BOTH, _field("part1")),
    "hierarchy-choice": (sd.Hierarchy(domain=16, eps0=1.0, base="k-rr"), LETTERS, _choice),
    "dump": (sd.PureDUMP(d=5, blankets=1), LETTERS, _whole),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_is_what_the_good_ones_say(name, tmp_path):
    mechanism, values, spoil = CASES[name]
    reports = mechanism.simulate(values, seed=2)
    bad = np.zeros(len(reports), dtype=bool)
    bad[::2] = True
    spoilt = spoil(reports, bad)
    write_reports(tmp_path / "r.parquet", iter([spoilt]), mechanism, None)
    found = read_reports(tmp_path / "r.parquet")
    assert found.refused == bad.sum()
    good = mechanism.aggregate(reports[~bad])
    assert found.outcome.count == good.count == len(reports) - bad.sum()
    assert np.allclose(np.ravel(found.outcome.aggregate().sums), np.ravel(good.sums), rtol=1e-12)


@pytest.mark.parametrize(
    "mechanism", [sd.GeneralizedGaussian(shape=1.0, scale=1.0), sd.Staircase(eps0=1.0)]
)
def test_a_report_that_no_noise_reaches_is_outside(mechanism, tmp_path):
    """One of 1e200 among 1,001 was inside, and its square made the sampling error NaN."""
    reports = mechanism.simulate(np.full(1000, 0.5), seed=3)
    write_reports(tmp_path / "r.parquet", iter([np.append(reports, 1e200)]), mechanism, None)
    assert read_reports(tmp_path / "r.parquet").refused == 1
    result = CliRunner().invoke(main, ["run", "--from-reports", str(tmp_path / "r.parquet")])
    assert result.exit_code == 0, result.output
    assert "nan" not in result.output
    good = mechanism.estimate(reports).mean
    assert f"{good:.6f}"[:6] in result.output
