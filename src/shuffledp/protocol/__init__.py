"""Run the protocol on data: randomize, shuffle the reports that leave, aggregate, estimate.

Stages work on NumPy arrays in memory (``Job``, ``Shuffler``) and on tables through an engine
(``engines``); needs the extra ``run`` (pyarrow, DuckDB), for clusters ``spark``.
"""

from __future__ import annotations

from shuffledp.protocol.columns import Column, hash_of
from shuffledp.protocol.heavy import HeavyHitters, PrefixTree
from shuffledp.protocol.jobs import Job, Outcome
from shuffledp.protocol.postprocess import project_to_simplex
from shuffledp.protocol.questions import Asked, question
from shuffledp.protocol.records import Record
from shuffledp.protocol.reports import ReportFile, read_reports, write_reports
from shuffledp.protocol.shuffler import Shuffler, shuffle_reports
from shuffledp.protocol.simulation import Simulation, simulate

__all__ = [
    "Asked",
    "Column",
    "HeavyHitters",
    "Job",
    "Outcome",
    "PrefixTree",
    "Record",
    "ReportFile",
    "Shuffler",
    "Simulation",
    "hash_of",
    "project_to_simplex",
    "question",
    "read_reports",
    "shuffle_reports",
    "simulate",
    "write_reports",
]
