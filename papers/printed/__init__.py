"""What the papers print (``items``), and ours beside each of it (``feldman``, ``wang``, ...)."""

from papers.printed import feldman, index, lemmas, su, su_claims, wang, wang_claims
from papers.printed.items import ITEMS, Item
from papers.printed.kit import ROWS, Found, found_of

__all__ = [
    "ITEMS", "ROWS", "Found", "Item", "feldman", "found_of", "index", "lemmas", "su", "su_claims",
    "wang", "wang_claims",
]  # fmt: skip
