"""Solve for any one of eps0, noise, users or rounds, given the privacy target and the rest."""

from shuffledp.calibration.counts import fewest, most_rounds, required_users
from shuffledp.calibration.result import Calibration
from shuffledp.calibration.solve import calibrate, meeting
from shuffledp.calibration.sums import parameter_of_sums, required_added

__all__ = [
    "Calibration",
    "calibrate",
    "fewest",
    "meeting",
    "most_rounds",
    "parameter_of_sums",
    "required_added",
    "required_users",
]
