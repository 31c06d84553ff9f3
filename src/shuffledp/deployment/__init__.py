"""Deployments: a TOML file that says what runs, and the privacy accounting of it."""

from __future__ import annotations

from shuffledp.deployment.accounting import Account, Curve, Situation, account, curve_over_n
from shuffledp.deployment.model import Deployment, DeploymentFile, json_schema, load

__all__ = [
    "Account",
    "Curve",
    "Deployment",
    "DeploymentFile",
    "Situation",
    "account",
    "curve_over_n",
    "json_schema",
    "load",
]
