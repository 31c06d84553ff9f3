"""Deployments: a TOML file that says what runs, and the privacy accounting of it."""

from __future__ import annotations

from shuffledp.deployment.accounting import Account, Answer, Curve, account, curve_over_n
from shuffledp.deployment.files import DeploymentFile, load, parse
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.schema import json_schema

__all__ = [
    "Account",
    "Answer",
    "Curve",
    "Deployment",
    "DeploymentFile",
    "account",
    "curve_over_n",
    "json_schema",
    "load",
    "parse",
]
