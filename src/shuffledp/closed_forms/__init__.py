"""Published formulas, each with its theorem and its domain; outside it NotCertified, no number.

``clones``: Erlingsson et al., Cheu et al., and Feldman et al.; ``blanket``: Balle et al.;
``variation_ratio``: Wang et al.; ``renyi``: Girgis et al. What is tagged "from memory" there is
for comparison and is never put in a Bound.
"""

from shuffledp.closed_forms import blanket, clones, renyi, variation_ratio
from shuffledp.closed_forms.inverse import epsilon_of, log_delta_of

__all__ = ["blanket", "clones", "epsilon_of", "log_delta_of", "renyi", "variation_ratio"]
