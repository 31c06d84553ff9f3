"""Local randomizers: one class for each mechanism.

Importing this package registers every mechanism by its name; a new one is a new module with one
class, imported here.
"""

from shuffledp.ball.record import WorstPairs
from shuffledp.randomizers.base import (
    Randomizer,
    randomizer_names,
)
from shuffledp.randomizers.bounded import ClampedLaplace, MetricLaplace, TruncatedLaplace
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.density import Density
from shuffledp.randomizers.encodings import BLH, OLH, OUE, RAPPOR, LocalHash
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.hierarchy import Hierarchy
from shuffledp.randomizers.hyperplanes import PIRAPPOR, ProjectiveGeometry
from shuffledp.randomizers.integers import DiscreteGaussian, DiscreteLaplace
from shuffledp.randomizers.interval_noise import Gaussian, GeneralizedGaussian, Laplace
from shuffledp.randomizers.items import KRR, BinaryRR, SubsetSelection
from shuffledp.randomizers.joint import Joint
from shuffledp.randomizers.laplace_ball import LaplaceBall
from shuffledp.randomizers.one_of import Parallel, PoissonSubsample
from shuffledp.randomizers.pckv import PCKVGRR
from shuffledp.randomizers.privunit import PrivUnit
from shuffledp.randomizers.sets import SamplingRAPPOR, Wheel
from shuffledp.randomizers.staircase import Staircase
from shuffledp.randomizers.two_levels import Duchi, Hybrid, Piecewise
from shuffledp.randomizers.vectors import GaussianBall

__all__ = [
    "BLH",
    "KRR",
    "OLH",
    "OUE",
    "PCKVGRR",
    "PIRAPPOR",
    "RAPPOR",
    "BinaryRR",
    "Channel",
    "ClampedLaplace",
    "Density",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Duchi",
    "Gaussian",
    "GaussianBall",
    "GeneralizedGaussian",
    "HadamardResponse",
    "Hierarchy",
    "Hybrid",
    "Joint",
    "Laplace",
    "LaplaceBall",
    "LocalHash",
    "MetricLaplace",
    "Parallel",
    "Piecewise",
    "PoissonSubsample",
    "PrivUnit",
    "ProjectiveGeometry",
    "Randomizer",
    "SamplingRAPPOR",
    "Staircase",
    "SubsetSelection",
    "TruncatedLaplace",
    "Wheel",
    "WorstPairs",
    "randomizer_names",
]
