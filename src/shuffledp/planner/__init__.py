"""Planning: which mechanism is the most accurate for a task at a certified central guarantee."""

from __future__ import annotations

from shuffledp.planner.plan import errors_over_n, plan, refuse_other_views
from shuffledp.planner.result import Curves, Plan, Row
from shuffledp.planner.tasks import TASKS, Task, make_task

__all__ = [
    "TASKS",
    "Curves",
    "Plan",
    "Row",
    "Task",
    "errors_over_n",
    "make_task",
    "plan",
    "refuse_other_views",
]
