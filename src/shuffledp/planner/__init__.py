"""Planning: which mechanism is the most accurate for a task at a certified central guarantee."""

from __future__ import annotations

from shuffledp.planner.plan import plan
from shuffledp.planner.result import Plan, Row
from shuffledp.planner.tasks import TASKS, Task, make_task

__all__ = [
    "TASKS",
    "Plan",
    "Row",
    "Task",
    "make_task",
    "plan",
]
