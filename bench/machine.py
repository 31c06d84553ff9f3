"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import scipy

import shuffledp as sd


def description() -> str:
    """Processor, cores, versions and load, in two lines."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"load {load} at the start\n"
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"shuffledp {sd.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"
