"""The part of the package that verifies certificates, as one archive that imports without NumPy.

All of it is the installed package's files, byte for byte, but for three ``__init__`` that would
import the numerics, and `shuffledp.deployment.mechanisms`, for which `browser.mechanisms` stands.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib.resources import files

from shuffledp import __version__

__all__ = ["bundle"]

_PARTS = {
    "": ("errors.py", "_check.py"),
    "values": ("__init__.py", "notebook.py", "verdicts.py"),
    "arithmetic": None,  # all of it
    "ball": None,
    "certificate": (
        "apart.py",
        "checks.py",
        "composed.py",
        "crowd_model.py",
        "crowds.py",
        "decide.py",
        "expected.py",
        "files.py",
        "mechanism.py",
        "messages.py",
        "model.py",
        "sums.py",
        "verifier.py",
        "widened.py",
    ),
    "deployment": (
        "added.py",
        "dap.py",
        "data.py",
        "files.py",
        "groups.py",
        "messages.py",
        "model.py",
        "shufflers.py",
    ),
    "page/browser": ("__init__.py", "driver.py", "ranges.py"),
}
_BARE = ("certificate", "deployment", "page")
# The earliest time a zip archive can tell: equal files give equal bytes.
_WHEN = (1980, 1, 1, 0, 0, 0)


def bundle() -> bytes:
    """The archive; equal for equal files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(_members()):
            entry = zipfile.ZipInfo(f"shuffledp/{name}", _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def _members() -> Iterator[tuple[str, bytes]]:
    home = files("shuffledp")
    for folder, names in _PARTS.items():
        place = home
        for step in folder.split("/") if folder else ():
            place = place / step
        for file in place.iterdir():
            wanted = file.name.endswith(".py") if names is None else file.name in names
            if wanted:
                yield f"{folder}/{file.name}".lstrip("/"), file.read_bytes()
    for folder in _BARE:
        yield f"{folder}/__init__.py", b'"""In the browser: what verifies, and nothing else."""\n'
    words = (
        f'"""In the browser: what verifies, and nothing else."""\n\n__version__ = "{__version__}"\n'
    )
    yield "__init__.py", words.encode()
    stand_in = home / "page" / "browser" / "mechanisms.py"
    yield "deployment/mechanisms.py", stand_in.read_bytes()
