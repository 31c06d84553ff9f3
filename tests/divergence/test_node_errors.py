"""The claimed error of each node: never below what the proofs ask for, nor below the true error.

Rounding constants are worst cases, which no test meets by chance: the claims are compared with the
terms of docs/theory.md, section 6, counted again here. Errors of the input are compared with laws
moved by them, in balls.
"""

import itertools
import math

import numpy as np
import pytest
from flint import acb, arb

from divergence.oracle import ball
from shuffledp.divergence.gain import GainLaw
from shuffledp.divergence.nodes import _BulkPowers, _Columns, _error_constants, _RarePowers
from shuffledp.divergence.tilt import Tilt, log_moment

U = 2.0**-53


def law_of(w, g, **more):
    w, g = np.array(w, dtype=float), np.array(g, dtype=float)
    fields = {
        "w": w,
        "g": g,
        "g_err": np.zeros_like(g),
        "rel": 0.0,
        "mean": float((w * g).sum()),
        "mean_err": 0.0,
        "active": g > 0.0,
        "low": min(0.0, float(g.min())),
        "high": max(0.0, float(g.max())),
    }
    return GainLaw(**(fields | more))


def tilted(law, n, alpha, *, rare=False):
    log_m, _ = log_moment(law, alpha)
    scale = n * log_m
    if rare:
        down = ~law.active
        least = 1.0 + float((law.w[down] * np.expm1(alpha * law.g[down])).sum())
        least -= float(law.w[law.active].sum()) + law.lost
        part = float((law.w * np.exp(alpha * law.g))[law.active].sum())
        log_ratio = n * math.log1p(part / least)
        scale = n * math.log(least) + (
            log_ratio if log_ratio > 600.0 else math.log(math.expm1(log_ratio))
        )
    return Tilt(alpha, log_m, scale, rare, 1.0)


LAWS = {
    "two": law_of([0.3, 0.4], [1.0, -0.8]),
    "far": law_of([1e-3, 0.2, 0.2], [40.0, -0.5, 0.1]),
    "many": law_of(np.full(40, 0.02), np.linspace(-1.0, 1.1, 40)),
    "lost": law_of([0.3, 0.2], [0.5, -0.5], lost=0.25, rel=1e-13),
    "errors": law_of([0.3, 0.4], [1.0, -0.8], g_err=np.array([3e-13, 2e-13]), mean_err=1e-14),
    "one": law_of([0.3], [1.0]),
    "mean": law_of([0.3, 0.4], [1.0, -0.8], mean_err=1e-9),
    "vague": law_of([0.3, 0.4], [1e-3, -0.8], g_err=np.array([2e-3, 0.0])),
    "small": law_of([0.3, 0.4], [0.1, -0.08]),
    "next to one": law_of([1e-9, 1e-8], [1.0, -0.2]),
}


def kbar(z):
    return 0.5 * np.abs(z) ** 2 * np.exp(np.maximum(z.real, 0.0))


def proof_of_moment(law, alpha, x, y, *, centred):
    """Theorem 6.13, with the roundings of each kind of term counted apart."""
    s = complex(alpha, x + y)
    giant, baby = complex(alpha, x) * law.g, 1j * y * law.g
    k = law.g.size
    first, second = np.abs(np.expm1(giant)), np.abs(np.expm1(baby))
    roundings = 8 if y < 0.0 else 4
    eta = law.g_err + roundings * U * (np.abs(law.g) + law.g_err)
    rise = np.exp(alpha * (law.g + eta))
    need = float((law.w * first * second).sum()) * ((1.42 * k + 119.0) * U + law.rel)
    need += law.lost * (U + law.rel)
    if not centred:
        need += float((law.w * (first + second)).sum()) * ((k + 101.0) * U + law.rel)
        return need + abs(s) * float((law.w * eta * rise).sum())
    for z in (giant, baby):
        size = np.abs(z)
        near = ((k + 76.0) * U + law.rel) * kbar(z)
        rest = np.abs(np.expm1(z) - z)
        lost = np.where(size < 1.0, 55.0 * size, 20.2 * np.exp(z.real) + 2.1 + 1.5 * size)
        far = ((k + 4.0) * U + law.rel) * rest + U * lost
        need += float((law.w * np.where(size <= 0.25, near, far)).sum())
    need += 1.0 * abs(s) * (law.mean_err + 8 * U * abs(law.mean))
    reach = np.abs(law.g) + eta
    return need + abs(s) ** 2 * float((law.w * eta * reach * np.maximum(rise, 1.0)).sum())


def captured(powers, x, *, centred):
    """What the nodes hand to the n-th power: numbers, and claims of their errors."""
    seen = []
    powers._power = lambda *arguments: seen.append(arguments)
    powers(np.array([x]), centred=centred)
    return [part[0] for part in seen[0] if isinstance(part, np.ndarray)]


NODES = (0.0, 1e-4, 0.02, 0.3, math.pi, 10.0 * math.pi)


def columns_of(y, mirrored):
    """A row's offsets, from 0 up, or with their negatives after them."""
    return _Columns(np.concatenate([y, -y[1:]]) if mirrored else y, mirrored)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_moments_claim_what_the_proof_asks_for(name, centred, mirrored):
    """Theorem 6.13, wherever either form may be used, and beyond."""
    law, largest = LAWS[name], float(np.abs(LAWS[name].g).max())
    # Also rows of nodes that are all near the axis, in units of the largest gain.
    near = [x / largest for x in (0.0, 0.26, 0.4, 0.6, 0.9)]
    rows = ((np.array(NODES), (0.0, 0.1, 0.5, 5.0, 100.0)), (np.array([0.0, 1e-4 / largest]), near))
    for alpha, (y, starts) in itertools.product((0.01, 0.3, 2.0, 0.01 / largest), rows):
        columns = columns_of(y, mirrored)
        powers = _BulkPowers(law, 1, tilted(law, 1, alpha), columns)
        powers.prepare_rest()
        for x in starts:
            number, error = captured(powers, x, centred=centred)
            for column, at in enumerate(columns.y):
                # A row begins half its width before x.
                if at < 0.0 and 2.0 * abs(at) >= x:
                    continue
                need = proof_of_moment(law, alpha, x, at, centred=centred)
                assert error[column] >= need * (1.0 - 1e-3)
                terms = law.w * np.expm1(complex(alpha, x + at) * law.g)
                exact = complex(terms.sum()) - law.lost
                size = float(np.abs(terms).sum()) + 1.0 + largest * (x + abs(at))
                assert abs(number[column] - exact) <= 1e-12 * size


def test_moments_whose_squares_would_overflow():
    """Cauchy and Schwarz with e^600: the plain bound takes over."""
    law = law_of([1e-100, 0.3], [600.0, -1.0])
    y = np.array([0.0, math.pi / 600.0, 1.0])
    powers = _BulkPowers(law, 1, tilted(law, 1, 1.0), _Columns(y))
    for x in (0.0, 1e-3, 0.4):
        _, error = captured(powers, x, centred=False)
        for column, at in enumerate(y):
            assert error[column] >= 0.999 * proof_of_moment(law, 1.0, x, at, centred=False)


POINTS = [0.0, 1e-12, -1e-6, 0.3, -0.3, 0.49j, -0.9, -0.5 + 0.5j, -2.0, 5.0 - 3.0j, 1e-3j]


@pytest.mark.parametrize("n", [1, 50, 10**6, 10**12])
@pytest.mark.parametrize("error", [0.0, 1e-14, 1e-5])
def test_powers_claim_what_the_proof_asks_for(n, error):
    """Theorem 6.14: the logarithm, its multiple and the exponential."""
    law = LAWS["next to one"]
    for log_m in (0.0, -1e-3, 0.5):
        tilt = Tilt(0.1, log_m, n * log_m, rare=False, variance=1.0)
        powers = _BulkPowers(law, n, tilt, _Columns(np.zeros(1)))
        for point in POINTS:
            size, log = abs(1.0 + point), np.log(1.0 + complex(point))
            if n * (math.log(size) - log_m) > 100.0:
                continue  # no transform is larger than on the axis
            found = powers._power(np.array([[point]]), np.array([[error]]), n)
            value, err = abs(found.value[0, 0]), found.err[0, 0]
            forming = error + 24.0 * U * abs(point) * (1.0 + abs(point))
            need = n * forming / size
            need += U * (13.0 * n * abs(log) + 4.0 * n * abs(log_m) + 18.0)
            if need < 1.0:
                assert err >= value * math.expm1(need) * (1.0 - 1e-6)
            elif n * (math.log(size) - log_m) + need < 190.0:
                exponent = n * (math.log(size) - log_m) + need
                assert err >= math.exp(min(exponent, 190.0)) * (1.0 - 1e-3) - value


@pytest.mark.parametrize("n", [1, 3, 40])
def test_powers_of_next_to_nothing(n):
    """Where M(s) nearly vanishes: |M|^n up to (floor + e)^n."""
    tilt = Tilt(0.1, 0.2, n * 0.2, rare=False, variance=1.0)
    powers = _BulkPowers(LAWS["two"], n, tilt, _Columns(np.zeros(1)))
    for off in (0.0, 1e-9, 1e-4, 9e-4):
        for error in (0.0, 1e-6, 1e-3, 0.1):
            found = powers._power(np.array([[-1.0 + off]]), np.array([[error]]), n)
            exact = (ball(off) + ball(error)) ** n * ball(-0.2 * n).exp()
            gap = abs(exact - acb(float(found.value[0, 0].real), float(found.value[0, 0].imag)))
            assert gap <= ball(float(found.err[0, 0]))


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("name", LAWS)
def test_rare_moments_claim_what_the_proof_asks_for(name, mirrored):
    """V and M_- - 1, each by Theorem 6.13 in its plain form."""
    law, columns = LAWS[name], columns_of(np.array(NODES), mirrored)
    up = law.active
    for alpha in (0.01, 0.3, 2.0):
        powers = _RarePowers(law, 1, tilted(law, 1, alpha, rare=True), columns)
        for x in (0.0, 0.5, 5.0):
            v, v_err, rest, rest_err = captured(powers, x, centred=False)
            k = law.g.size
            rise = law.w * np.exp(alpha * law.g)
            for column, at in enumerate(columns.y):
                if at < 0.0 and 2.0 * abs(at) >= x:
                    continue
                roundings = 8 if at < 0.0 else 4
                eta = law.g_err + roundings * U * (np.abs(law.g) + law.g_err)
                s = complex(alpha, x + at)
                need = float(rise[up].sum()) * ((1.42 * k + 45.0) * U + law.rel)
                need += abs(s) * float((rise * eta)[up].sum())
                assert v_err[0 if v_err.size == 1 else column] >= need * (1.0 - 1e-3)
                exact = complex((law.w * np.exp(s * law.g))[up].sum())
                assert abs(v[column] - exact) <= 1e-11 * (1.0 + abs(exact))
                giant, baby = complex(alpha, x) * law.g, 1j * at * law.g
                first, second = np.abs(np.expm1(giant)), np.abs(np.expm1(baby))
                both = (law.w * first * second)[~up].sum() * ((1.42 * k + 119.0) * U + law.rel)
                one = (law.w * (first + second))[~up].sum() * ((k + 101.0) * U + law.rel)
                need = both + one + (law.w[up].sum() + law.lost) * ((k + 2.0) * U + law.rel)
                need += abs(s) * float((rise * eta)[~up].sum())
                assert rest_err[column] >= need * (1.0 - 1e-3)
                exact = complex((law.w * np.expm1(s * law.g))[~up].sum())
                exact -= law.w[up].sum() + law.lost
                assert abs(rest[column] - exact) <= 1e-12


RATIOS = [1e-12, 1e-6, 1e-3j, 0.3, -0.4 + 0.3j, -0.9, 2.0, -1.7j]


@pytest.mark.parametrize("n", [1, 2, 40, 10**6])
@pytest.mark.parametrize(
    "errors", [(0.0, 0.0), (1e-9, 0.0), (0.0, 1e-9), (1e-3, 1e-4), (0.1, 0.3), (0.1, 0.7)]
)
def test_rare_powers_claim_what_the_proof_asks_for(n, errors):
    """M^n - M_-^n for V and M_- moved by their errors each way, and never less than rounding."""
    law = LAWS["two"]
    for rest in (0.0, -1e-6, -0.3, -0.5 + 0.2j, -0.5 + 0.6j, -0.9995):
        base = 1.0 + complex(rest)
        for ratio in RATIOS:
            whole = n * math.log(abs(1.0 + ratio)) + n * math.log(abs(base))
            scale = max(whole, n * math.log(abs(base)) + math.log(min(n * abs(ratio), 1.0)))
            tilt = Tilt(0.1, 0.0, scale, rare=True, variance=1.0)
            powers = _RarePowers(law, n, tilt, _Columns(np.zeros(1)))
            powers.shift = min(max(n * math.log(abs(base)) - scale, 0.0), 690.0)
            v = ratio * base
            found = powers._power(
                np.array([[v]], dtype=complex),
                np.array([[errors[0] * abs(v)]]),
                np.array([[rest]], dtype=complex),
                np.array([[errors[1] * abs(base)]]),
            )
            value, err = found.value[0, 0], ball(float(found.err[0, 0]))
            centre = acb(float(value.real), float(value.imag))
            for turn in (1.0, -1.0, 1j, -1j):
                for other in (1.0, -1.0, 1j):
                    part = acb(v.real, v.imag) * (1 + ball(errors[0]) * exact_complex(turn))
                    below = 1 + exact_complex(rest)
                    below += ball(errors[1]) * ball(abs(base)) * exact_complex(other)
                    exact = (below + part) ** n - below**n
                    exact = exact * (-ball(scale)).exp()
                    if abs(exact) < ball(1e80):
                        assert abs(exact - centre) <= err * (1 + ball(1e-9)) + ball(1e-200)
            if errors == (0.0, 0.0) and abs(base) > 0.01 and abs(value) > 1e-200:
                log, up = np.log(base), np.log1p(ratio) if abs(ratio) < 0.1 else np.log(1 + ratio)
                front = U * (13.0 * n * abs(log) + 4.0 * abs(scale) + 100.0)
                front += n * 24.0 * U * abs(rest) * (1.0 + abs(rest)) / abs(base)
                bend = 9.0 * U * n * abs(up)
                bend += 24.0 * U * n * abs(ratio) * (1.0 + abs(ratio)) / abs(1.0 + ratio)
                need = front * abs(value)
                if front < 0.1 and bend < 0.1:
                    need += bend * math.exp(max(whole, n * math.log(abs(base))) - scale)
                    assert found.err[0, 0] >= need * (1.0 - 1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("v", [0.0, 0.3, 0.9, 0.9j, 1.0])
@pytest.mark.parametrize("error", [0.0, 1e-6, 1e-3, 0.05])
def test_rare_powers_where_the_rest_vanishes(n, v, error):
    """M_- = 0 up to an error: both powers by themselves."""
    tilt = Tilt(0.1, 0.0, 0.3 * n, rare=True, variance=1.0)
    powers = _RarePowers(LAWS["two"], n, tilt, _Columns(np.zeros(1)))
    for rest in (-1.0, -1.0 + 5e-4, -1.0 - 5e-4j):
        point = np.array([[complex(v)]]), np.array([[error]])
        found = powers._power(*point, np.array([[complex(rest)]]), np.array([[error]]))
        value, err = found.value[0, 0], ball(float(found.err[0, 0]))
        for turn in (1.0, -1.0, 1j, -1j):
            below = 1 + exact_complex(rest) + ball(error) * exact_complex(turn)
            part = exact_complex(v) + ball(error) * exact_complex(turn)
            exact = ((below + part) ** n - below**n) * ball(-0.3 * n).exp()
            assert abs(exact - acb(float(value.real), float(value.imag))) <= err


def exact_complex(z):
    return acb(complex(z).real, complex(z).imag)


def moved(law, sign):
    """The law with every gain and mass moved to the end of its error."""
    w = [ball(x) * (1 + ball(law.rel) * sign) for x in law.w]
    g = [ball(x) + ball(e) * sign for x, e in zip(law.g, law.g_err, strict=True)]
    return w, g, ball(law.lost) * (1 - ball(law.rel) * sign)


def transform(w, g, lost, s, chosen=None):
    """M(s), or M without the atoms not chosen."""
    total = acb(1) - lost
    for i, (p, x) in enumerate(zip(w, g, strict=True)):
        total += p * ((s * x).exp() if chosen is None or chosen[i] else acb(0)) - p
    return total


PERTURBED = [
    law_of([0.3], [1.0], g_err=np.array([1e-5])),
    law_of([0.3], [-1.0], g_err=np.array([1e-5])),
    law_of([0.3, 0.4], [1.0, -0.8], g_err=np.array([1e-5, 0.0])),
    law_of([0.3, 0.4], [1.0, -0.8], g_err=np.array([0.0, 1e-5])),
    law_of([0.3, 0.4], [1.0, -0.8], g_err=np.array([1e-3, 1e-3])),
    law_of([0.3, 0.4], [1.0, -0.8], rel=1e-6),
    law_of([0.2, 0.1], [1.0, -0.8], rel=1e-6, lost=0.3),
    law_of([1e-6, 0.4], [3.0, -0.1], g_err=np.array([1e-4, 1e-7]), rel=1e-7),
    law_of([0.5, 0.5], [1.0, -1.0], g_err=np.array([1e-6, 1e-6])),
]


@pytest.mark.parametrize("index", range(len(PERTURBED)))
@pytest.mark.parametrize("n", [1, 7, 400])
@pytest.mark.parametrize("rare", [False, True])
def test_errors_of_the_input(index, n, rare):
    """The true integrand of a moved law is within the claim, at nodes near and far."""
    law = PERTURBED[index]
    if rare and not bool(law.active.any()):
        return
    y = np.array([0.0, 0.01, 0.4])
    for alpha, sign in itertools.product((0.05, 1.0, 3.0), (-1, 1)):
        tilt = tilted(law, n, alpha, rare=rare)
        w, g, lost = moved(law, sign)
        powers = (_RarePowers if rare else _BulkPowers)(law, n, tilt, columns_of(y, rare))
        for x in (0.0, 0.7, math.pi / 2, math.pi / 1.8 * 0.9, 30.0):
            found = powers(np.array([x]), centred=False)
            for column, at in enumerate(y):
                s = acb(alpha, ball(x) + ball(float(at)))
                true = transform(w, g, lost, s) ** n
                if rare:
                    true -= transform(w, g, lost, s, ~law.active) ** n
                true *= (-ball(tilt.log_scale)).exp()
                value = found.value[0, column]
                gap = abs(acb(float(value.real), float(value.imag)) - true)
                assert gap <= ball(float(found.err[0, column]))
                # Not so wide that it says nothing: the terms above are what it is made of.
                if n * max(float(law.g_err.max()), law.rel) < 1e-3 and abs(true) > 0.1:
                    assert found.err[0, column] < 0.5 * abs(value)


def test_centred_errors_of_the_input():
    """E[G] is known apart from the gains: errors of these are of second order."""
    for err, mean_err in ((1e-5, 0.0), (0.0, 1e-6), (1e-5, 1e-6)):
        law = law_of([0.3, 0.4], [1.0, -0.8], g_err=np.array([err, err]), mean_err=mean_err)
        n, alpha = 1000, 0.02
        tilt = tilted(law, n, alpha)
        y = np.array([0.0, 0.005, 0.02])
        powers = _BulkPowers(law, n, tilt, _Columns(y))
        powers.prepare_rest()
        for sign, lift in itertools.product((-1, 1), (-1, 1)):
            w = [ball(x) for x in law.w]
            g = [ball(x) + ball(err) * sign for x in law.g]
            # A mass so far away that it only moves the mean.
            true_mean = ball(law.mean) + ball(mean_err) * lift
            for x in (0.0, 0.05, 0.2):
                found = powers(np.array([x]), centred=True)
                for column, at in enumerate(y):
                    s = acb(alpha, ball(x) + ball(float(at)))
                    m = 1 + s * true_mean
                    m += sum(
                        (p * ((s * v).exp() - 1 - s * v) for p, v in zip(w, g, strict=True)), acb(0)
                    )
                    true = m**n * (-ball(tilt.log_scale)).exp()
                    value = found.value[0, column]
                    gap = abs(acb(float(value.real), float(value.imag)) - true)
                    assert gap <= ball(float(found.err[0, column]))


# ------------------------------------------------------- two atoms in the place of each cell


def skewed(mass, mean, low, high):
    """The two-point law of this mean on [low, high]."""
    share = (mean - low) / (high - low)
    return [(mass * (1 - share), low), (mass * share, high)]


@pytest.mark.parametrize("skew", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("known", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("width", [1e-3, 0.1, 2.0, 60.0])
def test_cells_as_two_atoms(skew, known, width):
    """A cell with all its mass at its ends, against m +- sqrt(v'), for |s| from small to large."""
    mass, low = 0.4, -0.3 * width
    high = low + width
    mean = low + skew * width
    true = mass * 1.0, mean
    variance = (mean - low) * (high - mean)
    guess, doubt = (0.5 * variance, 0.5 * variance) if known < 1 else (variance, 0.0)
    guess, doubt = (0.0, variance) if known == 0.0 else (guess, doubt)
    root = math.sqrt(guess)
    reach = max(width, 2.0 * root)
    top = max(high, mean + root)
    law = law_of(
        [0.5 * mass] * 2,
        [mean - root, mean + root],
        half_var=np.full(2, 0.25 * mass * doubt),
        third=np.full(2, 0.5 * mass * (guess + doubt) * reach / 3.0),
        reach=np.full(2, reach),
        top=np.full(2, top),
    )
    del true
    for alpha in (1e-4 / width, 0.1 / width, 1.0 / width, 3.0 / width):
        claims = _error_constants(law, alpha)
        bare = _error_constants(law_of([0.2, 0.2], law.g), alpha).at(np.array([1.0]))[0]
        # The proof's constants: 1/2 for the variance, 1/4 for the third order, e^{alpha top}.
        assert claims.second >= 0.5 * mass * doubt * math.exp(alpha * mean) * 0.999 or claims.flat
        for scale in (1.0, 1.001, 1.5, 10.0, 1e3, 1e5):
            s = acb(alpha, ball(alpha) * ball(math.sqrt(scale**2 - 1.0)))
            exact = sum(
                (ball(p) * (s * ball(x)).exp() for p, x in skewed(mass, mean, low, high)), acb(0)
            )
            pair = sum(
                (ball(p) * (s * ball(x)).exp() for p, x in zip(law.w, law.g, strict=True)), acb(0)
            )
            gap = abs(exact - pair)
            size = alpha * scale
            claim = float(claims.cells(np.array([size]))[0])
            assert gap <= ball(claim) + arb(10) ** -30
            third = 0.25 * mass * (guess + doubt) * reach * math.exp(alpha * mean) * size**3
            square = mass * (guess + doubt) * math.exp(alpha * mean) * size**2
            both = mass * (math.exp(alpha * mean) + math.exp(alpha * mean))
            proof = 0.5 * mass * doubt * math.exp(alpha * mean) * size**2 + min(third, square)
            assert claim >= 0.999 * min(proof, both)
            whole = float(claims.at(np.array([size]))[0])
            assert whole >= claim + 0.999 * bare * size


def test_groups_too_wide_for_a_pair_count_with_their_mass():
    law = law_of(
        [0.2, 0.2],
        [-5.0, 5.0],
        half_var=np.full(2, 0.1 * 25.0),
        third=np.full(2, 0.2 * 25.0 * 10.0 / 3.0),
        reach=np.full(2, 10.0),
        top=np.full(2, 5.0),
    )
    for alpha in (0.5, 2.0):
        claims = _error_constants(law, alpha)
        for size in (alpha, 100.0 * alpha):
            assert claims.cells(np.array([size]))[0] >= 0.999 * 2.0 * 0.4 * math.exp(5.0 * alpha)


@pytest.mark.parametrize("alpha", [1e3, 1e12, 1e25, 1e40])
def test_gains_that_are_nothing_but_rounding(alpha):
    """alpha g_err of any size: the claim covers it, or says that nothing is known."""
    law = law_of([0.3, 0.4], [1e-20, -1.0], g_err=np.array([1e-20, 1e-16]), high=2e-20)
    claims = _error_constants(law, alpha)
    for sign in (-1, 1):
        push = ball(alpha) * (ball(1e-20) + sign * ball(1e-20))
        gap = ball(0.3) * abs(push.exp() - (ball(alpha) * ball(1e-20)).exp())
        claim = float(claims.at(np.array([alpha]))[0])
        assert claim == math.inf or ball(claim) >= gap
    if alpha > 1e23:
        assert claim == math.inf
        assert not claims.centred < math.inf
