"""shuffledp: how much privacy a shuffler buys, with a certificate.

>>> import shuffledp as sd
>>> acc = sd.shuffle(sd.KRR(k=10, eps0=4.0), n=10_000)
>>> bound = acc.epsilon(delta=1e-6)
>>> 0.380 < bound.lower <= bound.upper < 0.381
True
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from shuffledp._version import __version__

if TYPE_CHECKING:
    from shuffledp.amplification import Shuffled, generic
    from shuffledp.amplification.analyses import Analysis, analyses
    from shuffledp.amplification.comparison import Comparison
    from shuffledp.amplification.front import ratios, variation_ratio
    from shuffledp.bound import Bound, Theorem
    from shuffledp.calibration import (
        Calibration,
        calibrate,
        most_rounds,
        required_added,
        required_users,
    )
    from shuffledp.calibration.required import required_messages, required_noise
    from shuffledp.compare import RandomizerComparison, compare_randomizers
    from shuffledp.errors import NotCertified, ParameterError, ShuffleDPError
    from shuffledp.models import Setting, Shuffler
    from shuffledp.multimessage import (
        BalcerCheu,
        BalcerEtAl,
        BallsIntoBins,
        CheuZhilyaev,
        MixDUMP,
        MultiMessage,
        PureDUMP,
        protocol_from_dict,
        protocol_names,
    )
    from shuffledp.planner import Plan, plan
    from shuffledp.population import Crowd, crowd
    from shuffledp.published import Estimate, ShuffleIndex, shuffle_index
    from shuffledp.randomizers import (
        BLH,
        KRR,
        OLH,
        OUE,
        PCKVGRR,
        PIRAPPOR,
        RAPPOR,
        BinaryRR,
        Channel,
        ClampedLaplace,
        Density,
        DiscreteGaussian,
        DiscreteLaplace,
        Duchi,
        Extremal,
        Gaussian,
        GaussianBall,
        GeneralizedGaussian,
        HadamardResponse,
        Hierarchy,
        Hybrid,
        Joint,
        Laplace,
        LaplaceBall,
        LocalHash,
        MetricLaplace,
        Parallel,
        Piecewise,
        PoissonSubsample,
        PrivUnit,
        ProjectiveGeometry,
        Randomizer,
        SamplingRAPPOR,
        Staircase,
        SubsetSelection,
        TruncatedLaplace,
        Wheel,
        WorstPairs,
        randomizer_from_dict,
        randomizer_names,
    )
    from shuffledp.rounds import Composed, central, compose
    from shuffledp.surveys import Survey, Surveys, survey
    from shuffledp.training import BatchedSGD, sgd, sgd_noise
    from shuffledp.training.shuffled import ShuffledSGD
    from shuffledp.views import AddedNoise, Sums, shuffle

__all__ = [
    "BLH",
    "KRR",
    "OLH",
    "OUE",
    "PCKVGRR",
    "PIRAPPOR",
    "RAPPOR",
    "AddedNoise",
    "Analysis",
    "BalcerCheu",
    "BalcerEtAl",
    "BallsIntoBins",
    "BatchedSGD",
    "BinaryRR",
    "Bound",
    "Calibration",
    "Channel",
    "CheuZhilyaev",
    "ClampedLaplace",
    "Comparison",
    "Composed",
    "Crowd",
    "Density",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Duchi",
    "Estimate",
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
    "MixDUMP",
    "MultiMessage",
    "NotCertified",
    "Parallel",
    "ParameterError",
    "Piecewise",
    "Plan",
    "PoissonSubsample",
    "PrivUnit",
    "ProjectiveGeometry",
    "PureDUMP",
    "Randomizer",
    "RandomizerComparison",
    "SamplingRAPPOR",
    "Setting",
    "ShuffleDPError",
    "ShuffleIndex",
    "Shuffled",
    "ShuffledSGD",
    "Shuffler",
    "Staircase",
    "SubsetSelection",
    "Sums",
    "Survey",
    "Surveys",
    "Theorem",
    "TruncatedLaplace",
    "Wheel",
    "WorstPairs",
    "__version__",
    "analyses",
    "calibrate",
    "central",
    "compare_randomizers",
    "compose",
    "crowd",
    "generic",
    "most_rounds",
    "plan",
    "protocol_from_dict",
    "protocol_names",
    "randomizer_from_dict",
    "randomizer_names",
    "ratios",
    "required_added",
    "required_messages",
    "required_noise",
    "required_users",
    "sgd",
    "sgd_noise",
    "shuffle",
    "shuffle_index",
    "survey",
    "variation_ratio",
]

# Where each name is: a module is imported once something of it is asked for, as SciPy and all
# analyses take seven times as long to import as NumPy, and one command needs few of them.
_MODULES = {
    "shuffledp.amplification": (
        "Shuffled",
        "generic",
    ),
    "shuffledp.amplification.comparison": ("Comparison",),
    "shuffledp.amplification.front": (
        "ratios",
        "variation_ratio",
    ),
    "shuffledp.amplification.analyses": (
        "Analysis",
        "analyses",
    ),
    "shuffledp.bound": (
        "Bound",
        "Theorem",
    ),
    "shuffledp.calibration": (
        "Calibration",
        "calibrate",
        "most_rounds",
        "required_added",
        "required_users",
    ),
    "shuffledp.calibration.required": (
        "required_messages",
        "required_noise",
    ),
    "shuffledp.compare": (
        "RandomizerComparison",
        "compare_randomizers",
    ),
    "shuffledp.rounds": (
        "Composed",
        "central",
        "compose",
    ),
    "shuffledp.errors": (
        "NotCertified",
        "ParameterError",
        "ShuffleDPError",
    ),
    "shuffledp.published": (
        "Estimate",
        "ShuffleIndex",
        "shuffle_index",
    ),
    "shuffledp.models": (
        "Setting",
        "Shuffler",
    ),
    "shuffledp.multimessage": (
        "BalcerCheu",
        "BalcerEtAl",
        "BallsIntoBins",
        "CheuZhilyaev",
        "MixDUMP",
        "MultiMessage",
        "PureDUMP",
        "protocol_from_dict",
        "protocol_names",
    ),
    "shuffledp.planner": (
        "Plan",
        "plan",
    ),
    "shuffledp.population": (
        "Crowd",
        "crowd",
    ),
    "shuffledp.surveys": (
        "Survey",
        "Surveys",
        "survey",
    ),
    "shuffledp.training": (
        "BatchedSGD",
        "sgd",
        "sgd_noise",
    ),
    "shuffledp.training.shuffled": ("ShuffledSGD",),
    "shuffledp.views": (
        "AddedNoise",
        "Sums",
        "shuffle",
    ),
}
# Whatever has no other place is a mechanism, or what makes one.
_PLACES = dict.fromkeys(__all__, "shuffledp.randomizers")
_PLACES |= {name: module for module, names in _MODULES.items() for name in names}
del _PLACES["__version__"]


def __getattr__(name: str) -> object:
    """What is public, and the modules themselves, imported when first asked for."""
    if name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
