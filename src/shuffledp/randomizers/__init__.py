"""Local randomizers: one class for each mechanism.

Importing this package registers every mechanism by its name; a new one is a new module with one
class, imported here.
"""

from shuffledp.ball.record import WorstPairs
from shuffledp.randomizers.base import (
    Randomizer,
    randomizer_from_dict,
    randomizer_names,
)
from shuffledp.randomizers.channel import Channel
from shuffledp.randomizers.density import Density
from shuffledp.randomizers.discrete_gaussian import DiscreteGaussian
from shuffledp.randomizers.discrete_laplace import DiscreteLaplace
from shuffledp.randomizers.duchi import Duchi
from shuffledp.randomizers.extremal import Extremal
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.gaussian_ball import GaussianBall
from shuffledp.randomizers.generalized_gaussian import GeneralizedGaussian
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.hashing import BLH, OLH, LocalHash
from shuffledp.randomizers.hierarchy import Hierarchy
from shuffledp.randomizers.hybrid import Hybrid
from shuffledp.randomizers.hyperplanes import PIRAPPOR, ProjectiveGeometry
from shuffledp.randomizers.joint import Joint
from shuffledp.randomizers.krr import KRR, BinaryRR
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.laplace_ball import LaplaceBall
from shuffledp.randomizers.metric import MetricLaplace
from shuffledp.randomizers.parallel import Parallel
from shuffledp.randomizers.pckv import PCKVGRR
from shuffledp.randomizers.piecewise import Piecewise
from shuffledp.randomizers.privunit import PrivUnit
from shuffledp.randomizers.sampling_rappor import SamplingRAPPOR
from shuffledp.randomizers.staircase import Staircase
from shuffledp.randomizers.subsample import PoissonSubsample
from shuffledp.randomizers.subset import SubsetSelection
from shuffledp.randomizers.truncated import ClampedLaplace, TruncatedLaplace
from shuffledp.randomizers.unary import OUE, RAPPOR
from shuffledp.randomizers.wheel import Wheel

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
    "Extremal",
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
    "randomizer_from_dict",
    "randomizer_names",
]
