"""Modules that need an extra: one clear line names it where it is not installed."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from shuffledp.errors import ParameterError

_EXTRA_OF = {
    "matplotlib": "plot",
    "pydantic": "account",
    "tomli": "account",
    "flint": "verify",
    "pyarrow": "run",
    "duckdb": "run",
    "pyspark": "spark",
}


def _load(module: str, purpose: str) -> Any:
    """Import one of our modules; a missing third-party one is named with its extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = _missing(error)
        if missing is None:
            raise
        extra = _EXTRA_OF[missing]
        hint = f"pip install 'shuffledp[{extra}]'"
        raise ParameterError(f"{purpose} needs {missing}, which is not installed: {hint}") from None


def _missing(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ImportError) and error.name:
            root = error.name.split(".")[0]
            if root in _EXTRA_OF:
                return root
        error = error.__cause__ or error.__context__
    return None


def load_plots() -> ModuleType:
    """``shuffledp.plots`` (matplotlib)."""
    return _load("shuffledp.plots", "a figure")


def load_deployment() -> ModuleType:
    """``shuffledp.deployment`` (pydantic)."""
    return _load("shuffledp.deployment", "a deployment file")


def load_planning() -> ModuleType:
    """``shuffledp.deployment.plan`` (pydantic)."""
    return _load("shuffledp.deployment.plan", "a plan file")


def load_certificate() -> ModuleType:
    """``shuffledp.certificate`` (pydantic)."""
    return _load("shuffledp.certificate", "a certificate")


def load_verifier() -> ModuleType:
    """``shuffledp.certificate.verifier`` (pydantic, python-flint)."""
    return _load("shuffledp.certificate.verifier", "verify")


def load_protocol() -> ModuleType:
    """``shuffledp.protocol.run`` (pyarrow, DuckDB, pydantic)."""
    return _load("shuffledp.protocol.run", "running on data")
