"""Modules that need an extra: one clear line names it, and all that is missing, before any work."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

from shuffledp.errors import ParameterError, not_installed

# Extra -> what of it is imported. One extra is enough for any command (pyproject.toml).
_TOML = () if sys.version_info >= (3, 11) else ("tomli",)
_ACCOUNT = ("pydantic", "matplotlib", *_TOML, "tomli_w")
NEEDED: dict[str, tuple[str, ...]] = {
    "plot": ("matplotlib",),
    "account": _ACCOUNT,
    "verify": ("pydantic", *_TOML),
    # DuckDB reads files: who only estimates from reports needs none (``engines.duck``).
    "run": (*_ACCOUNT, "pyarrow"),
}


def _load(module: str, purpose: str, extra: str) -> ModuleType:
    """Import one of our modules, or name what is missing of its extra."""
    missing = [name for name in NEEDED[extra] if not _installed(name)]
    if missing:
        raise ParameterError(not_installed(purpose, missing, extra))
    return importlib.import_module(module)


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module that was put there by hand
        return sys.modules[name] is not None


def load_plots() -> ModuleType:
    """``shuffledp.plots`` (matplotlib)."""
    return _load("shuffledp.plots", "a figure", "plot")


def load_deployment() -> ModuleType:
    """``shuffledp.deployment`` (pydantic)."""
    return _load("shuffledp.deployment", "a deployment file", "account")


def load_planning() -> ModuleType:
    """``shuffledp.deployment.plan`` (pydantic)."""
    return _load("shuffledp.deployment.plan", "a plan", "account")


def load_certificate() -> ModuleType:
    """``shuffledp.certificate`` (pydantic)."""
    return _load("shuffledp.certificate", "a certificate", "account")


def load_verifier() -> ModuleType:
    """``shuffledp.certificate.verifier`` (pydantic)."""
    return _load("shuffledp.certificate.verifier", "verify", "verify")


def load_protocol() -> ModuleType:
    """``shuffledp.protocol.run`` (pyarrow, pydantic)."""
    return _load("shuffledp.protocol.run", "running on data", "run")
