"""Deployments: a TOML file that says what runs, and the privacy accounting of it."""

from __future__ import annotations

from shuffledp.deployment.accounting import Account, Curve, Situation, account, curve_over_n
from shuffledp.deployment.crowds import CrowdAccount, account_crowd
from shuffledp.deployment.files import DeploymentFile, load, parse
from shuffledp.deployment.model import Deployment
from shuffledp.deployment.schema import json_schema

__all__ = [
    "Account",
    "CrowdAccount",
    "Curve",
    "Deployment",
    "DeploymentFile",
    "Situation",
    "account",
    "account_crowd",
    "curve_over_n",
    "json_schema",
    "load",
    "parse",
]
