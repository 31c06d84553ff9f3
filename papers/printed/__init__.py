"""What four papers print, with ours beside it: a row for each number, formula and claim."""

from papers.printed import feldman, wang, wang_claims, su, su_claims, index  # noqa: F401, I001
from papers.printed.rows import ROWS, Found, Row

__all__ = ["ROWS", "Found", "Row"]
