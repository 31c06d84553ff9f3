"""shuffledp: how much privacy a shuffler buys, with a certificate.

>>> import shuffledp as sd
>>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
>>> bound = acc.epsilon(delta=1e-6)
>>> 0.380 < bound.lower <= bound.upper < 0.381
True
"""

import ast
import importlib
import importlib.util
from pathlib import Path

from shuffledp._version import __version__ as __version__


def _declared() -> dict[str, str]:
    """Name -> module, as the imports of __init__.pyi have them."""
    tree = ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8"))
    found = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    return {alias.name: str(one.module) for one in found for alias in one.names}


# A module is imported once something of it is asked for, as all analyses take seven times as long
# to import as NumPy, and one command needs few of them.
_PLACES = _declared()
# Type checkers read the stub instead.
__all__ = sorted(_PLACES)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]
del _PLACES["__version__"]


def __getattr__(name: str) -> object:
    """What is public, and the modules themselves, imported when first asked for."""
    if name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
