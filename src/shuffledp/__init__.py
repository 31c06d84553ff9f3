"""shuffledp: how much privacy a shuffler buys, with a certificate.

>>> import shuffledp as sd
>>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
>>> bound = acc.epsilon(delta=1e-6)
>>> 0.380 < bound.lower <= bound.upper < 0.381
True
"""

from shuffledp.analyses import Analysis, analyses
from shuffledp.bound import Bound, Theorem
from shuffledp.compare import RandomizerComparison, compare_randomizers
from shuffledp.composition import Composed, central, compose
from shuffledp.comparison import Comparison
from shuffledp.errors import NotCertified, ParameterError, ShuffleDPError
from shuffledp.families import variation_ratio
from shuffledp.index import Estimate, ShuffleIndex, shuffle_index
from shuffledp.pair import ShuffledPair
from shuffledp.randomizers import (
    BLH,
    KRR,
    OLH,
    OUE,
    PCKVGRR,
    RAPPOR,
    BinaryRR,
    Channel,
    Duchi,
    Extremal,
    Gaussian,
    HadamardResponse,
    Hybrid,
    Joint,
    JointLaw,
    Laplace,
    LocalHash,
    Parallel,
    PoissonSubsample,
    Piecewise,
    PrivUnit,
    Randomizer,
    SamplingRAPPOR,
    SubsetSelection,
    Wheel,
    WorstPairs,
    randomizer_from_dict,
    randomizer_names,
)
from shuffledp.shuffle import Shuffled, generic, shuffle

__version__ = "0.1.0"

__all__ = [
    "BLH",
    "KRR",
    "OLH",
    "OUE",
    "PCKVGRR",
    "RAPPOR",
    "Analysis",
    "BinaryRR",
    "Bound",
    "Channel",
    "Comparison",
    "Composed",
    "Duchi",
    "Estimate",
    "Extremal",
    "Gaussian",
    "HadamardResponse",
    "Hybrid",
    "Joint",
    "JointLaw",
    "Laplace",
    "LocalHash",
    "NotCertified",
    "Parallel",
    "ParameterError",
    "Piecewise",
    "PoissonSubsample",
    "PrivUnit",
    "Randomizer",
    "RandomizerComparison",
    "SamplingRAPPOR",
    "ShuffleDPError",
    "ShuffleIndex",
    "Shuffled",
    "ShuffledPair",
    "SubsetSelection",
    "Theorem",
    "Wheel",
    "WorstPairs",
    "analyses",
    "central",
    "compare_randomizers",
    "compose",
    "generic",
    "randomizer_from_dict",
    "randomizer_names",
    "shuffle",
    "shuffle_index",
    "variation_ratio",
]
