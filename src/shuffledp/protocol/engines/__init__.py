"""Engines: where the rows come from and who works on them. Each runs the same ``Job``.

An engine reads columns and hands back an ``Outcome``; with one seed all of them give the same.
``DuckEngine`` reads files, ``ArrayEngine`` tables in memory, ``spark.SparkEngine`` a cluster's.
"""

from __future__ import annotations

from shuffledp.protocol.engines.base import Engine, Settings
from shuffledp.protocol.engines.csv_text import TextFormat
from shuffledp.protocol.engines.duck import DuckEngine
from shuffledp.protocol.engines.memory import ArrayEngine

__all__ = ["ArrayEngine", "DuckEngine", "Engine", "Settings", "TextFormat"]
