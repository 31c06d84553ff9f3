"""The mechanisms that are measured and tabulated, and the setting they share."""

from __future__ import annotations

import shuffledp as sd

EPS0 = 4.0
DELTA = 1e-6  # of every table at a fixed n
DOMAIN = 100


def tabulated() -> dict[str, sd.Randomizer]:
    """One instance of every mechanism of docs/mechanisms.md, by the name it has there."""
    return {
        "binary-rr": sd.BinaryRR(eps0=EPS0),
        "k-rr": sd.KRR(k=10, eps0=EPS0),
        "rappor": sd.RAPPOR(d=DOMAIN, eps0=EPS0),
        "oue": sd.OUE(d=DOMAIN, eps0=EPS0),
        "blh": sd.BLH(domain=DOMAIN, eps0=EPS0),
        "olh": sd.OLH(domain=DOMAIN, eps0=EPS0),
        "hadamard-response": sd.HadamardResponse(domain=DOMAIN, eps0=EPS0),
        "subset": sd.SubsetSelection(d=DOMAIN, eps0=EPS0),
        "channel": sd.Channel(matrix=((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.2, 0.2, 0.6))),
        "laplace": sd.Laplace(eps0=EPS0),
        "laplace (0/1)": sd.Laplace(eps0=EPS0, binary=True),
        "gaussian": sd.Gaussian(sigma=1.0),
        "wheel": sd.Wheel(domain=DOMAIN, s=5, eps0=EPS0),
        "pckv-grr": sd.PCKVGRR(domain=DOMAIN, s=5, eps0=EPS0),
        "pi-rappor": sd.PIRAPPOR(domain=DOMAIN, eps0=EPS0),
        "projective-geometry": sd.ProjectiveGeometry(domain=DOMAIN, eps0=EPS0),
        "sampling-rappor": sd.SamplingRAPPOR(d=DOMAIN, s=5, eps0=EPS0),
        "duchi": sd.Duchi(eps0=EPS0),
        "piecewise": sd.Piecewise(eps0=EPS0),
        "hybrid": sd.Hybrid(eps0=EPS0),
        "privunit": sd.PrivUnit(d=DOMAIN, c=0.04, eps0=EPS0),
        "metric-laplace": sd.MetricLaplace(scale=1.0 / EPS0, distance=0.1),
        "laplace-ball": sd.LaplaceBall(d=2, scale=2.0 / EPS0, distance=0.2),
        "gaussian-ball": sd.GaussianBall(d=DOMAIN, sigma=20.0),
    }


def words(randomizer: sd.Randomizer) -> str:
    """Parameters as one types them."""
    if isinstance(randomizer, sd.Channel):
        return "3 inputs, 3 outputs"
    shown = {k: v for k, v in randomizer.parameters().items() if v is not False}
    ends = [shown.pop("low", None), shown.pop("high", None)]
    said = [f"{k} = {v}" if isinstance(v, str) else f"{k} = {v:g}" for k, v in shown.items()]
    if None not in ends:
        low, high = (f"{end:g}" for end in ends)
        binary = shown.pop("binary", False)
        said = [word for word in said if not word.startswith("binary")]
        said.append(f"values {low} or {high}" if binary else f"values in [{low}, {high}]")
    return ", ".join(said)
