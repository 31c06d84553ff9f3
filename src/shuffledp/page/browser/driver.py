"""What the page calls: one certificate in, what `shuffledp verify` says of it out, as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flint

from shuffledp import __version__
from shuffledp.certificate.checks import CITED
from shuffledp.certificate.verifier import not_checked, verify
from shuffledp.errors import NotCertified, ParameterError
from shuffledp.values.verdicts import headline

# A certificate of many rounds is some megabytes; the page is no place for much more.
LARGEST = 32 << 20
BY = f"shuffledp {__version__}, python-flint {flint.__version__}"
NOT_HERE = (
    "that the mechanism's class takes these parameters, and the deployment file: "
    "`shuffledp verify` checks both"
)


def check(path: str, report: Callable[[str], None]) -> str:
    """Verify a file.

    Parameters
    ----------
    path : str
        Where it is, in the browser's memory.
    report : callable
        Told in a few words what is being recomputed.

    Returns
    -------
    str
        JSON: ``status`` "good", "bad", "undecided" or "refused"; ``headline``; for what is no
        certificate nothing else; else the checks, what is not checked, versions, sha256.
    """
    return json.dumps(_checked(path, report), allow_nan=False)


def _checked(path: str, report: Callable[[str], None]) -> dict[str, Any]:
    try:
        content = _content(Path(path))
        checks = verify(path, report=report)
        left = not_checked(path)
    except (ParameterError, NotCertified) as error:
        return {"status": "refused", "headline": f"NOT VERIFIED: {' '.join(str(error).split())}"}
    except Exception as error:  # noqa: BLE001 (what trips the verifier is no proof of anything)
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return {"status": "refused", "headline": f"NOT VERIFIED: the verifier failed: {words}"}
    verdicts = {one.verdict for one in checks}
    status = "undecided" if "undecided" in verdicts else "good"
    return {
        "status": "bad" if "does not hold" in verdicts else status,
        "headline": headline([check.verdict for check in checks]),
        "checks": [one.to_dict() for one in checks],
        "not_checked": [*left, NOT_HERE],
        "cited": CITED,
        "by": BY,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if len(content) > LARGEST:
        raise ParameterError(f"{path}: wanted a certificate of at most {LARGEST:,} bytes")
    return content
