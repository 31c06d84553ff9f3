"""Witnesses: laws of ratios that one pair of neighbouring datasets, or one blanket, has."""

import math

import numpy as np


def swapped(law):
    w, a, b = law
    return w, b, a


def binary_rr(eps0):
    """Binary randomized response, all others hold the victim's first value; both directions."""
    up = math.exp(-eps0)
    law = ([1 / (1 + up), up / (1 + up)], [1.0, 1.0], [up, math.exp(eps0)])
    return law, swapped(law)


def k_rr_third(k, eps0):
    """k-RR, all others hold a third value (k >= 3): three classes, of any sizes in between."""
    grow = math.exp(eps0)
    one = 1.0 / (grow + k - 1.0)
    rest = 1.0 - 2.0 * one
    c = (k - 2.0) / (grow + k - 3.0)
    return ([one, one, rest], [grow, 1.0, c], [1.0, grow, c])


def k_rr_first(k, eps0):
    """k-RR, all others hold x0: the ratios to R_x0; both directions."""
    grow, one = math.exp(eps0), 1.0 / (math.exp(eps0) + k - 1.0)
    law = ([grow * one, one, (k - 2) * one], [1.0, 1.0, 1.0], [1 / grow, grow, 1.0])
    return law, swapped(law)


def k_rr_blanket(k, eps0):
    """The blanket of k-RR, k >= 2 of any size."""
    grow, one = math.exp(eps0), 1.0 / (math.exp(eps0) + k - 1.0)
    return ([one, one, (k - 2.0) * one], [grow, 1.0, 1.0], [1.0, grow, 1.0])


def clone(eps0):
    """The pair of the standard clone."""
    grow, half = math.exp(eps0), 0.5 * math.exp(-eps0)
    big, small = 2.0 * grow / (1.0 + math.exp(-eps0)), 2.0 / (1.0 + math.exp(-eps0))
    return ([half, half], [big, small], [small, big])


def labels(p, q):
    """Theorem 4.1's own channel: R_xb = q at b, 1 - q at 2; R_x = p, p, p, 1 - 3p at 0 to 3."""
    return ([p, p, p], [q / p, 0.0, (1 - q) / p], [0.0, q / p, (1 - q) / p])


def ratio(p, beta, q):
    """The published variation-ratio pair, which Remark 5.10's channels have."""
    al = beta / (p - 1.0)
    r, k0 = al * p / q, max(1.0 - (p + 1.0) * al, 0.0)
    rest = 1.0 - 2.0 * r
    return ([r, r, rest], [q, q / p, k0 / rest], [q / p, q, k0 / rest])


def extremal_blanket(eps0, share, both):
    """A blanket with ratios (E,1), (1,E), (1,1) and (E,E): weights share, share, the rest, both."""
    grow = math.exp(eps0)
    one, two = share / (grow + 1.0), both * (1.0 - share) / grow
    rest = (1.0 - both) * (1.0 - share)
    return ([one, one, rest, two], [grow, 1.0, 1.0, grow], [1.0, grow, 1.0, grow])


def laplace_blanket(eps0, cells=48):
    """Laplace noise on [0, 1], both ends, against the blanket, in cells (so a little below it)."""
    cuts = np.linspace(0.0, 0.5, cells + 1)
    # For y <= 1/2: B = (eps0/2) e^{-eps0 (1-y)}, R_1 = B, R_0 = (eps0/2) e^{-eps0 y}.
    low, high = cuts[:-1], cuts[1:]
    w = 0.5 * np.exp(-eps0 * (1.0 - high)) * -np.expm1(-eps0 * (high - low))
    a = 0.5 * np.exp(-eps0 * low) * -np.expm1(-eps0 * (high - low)) / w
    far = 0.5 * math.exp(-eps0)
    one = np.ones_like(w)
    w, a, b = [np.append(v, x) for v, x in ((w, far), (a, math.exp(eps0)), (one, 1.0))]
    return (np.append(w, w), np.append(a, b), np.append(b, a))
