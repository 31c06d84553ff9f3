"""Surveys: columns of a table -> estimates with intervals, and certificates of this very run."""

from __future__ import annotations

from shuffledp.surveys.front import survey, survey_columns
from shuffledp.surveys.result import Survey, Surveys

__all__ = ["Survey", "Surveys", "survey", "survey_columns"]
