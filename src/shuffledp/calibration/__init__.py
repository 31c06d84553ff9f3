"""Solve for any one of eps0, noise, users or rounds, given the privacy target and the rest."""

from shuffledp.calibration.added import required_added
from shuffledp.calibration.counts import most_rounds, required_users
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.solve import calibrate, meeting

__all__ = [
    "Calibration",
    "calibrate",
    "meeting",
    "most_rounds",
    "required_added",
    "required_users",
]
