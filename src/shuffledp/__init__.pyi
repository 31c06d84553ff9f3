# What `import shuffledp` offers, and which module each name is in. Type checkers read this file,
# and so does __init__.py, which imports a module once something of it is asked for.

from shuffledp._version import __version__ as __version__
from shuffledp.accounts import (
    Account as Account,
    Shuffler as Shuffler,
    generic as generic,
    shuffle as shuffle,
)
from shuffledp.accounts.front import ratios as ratios, variation_ratio as variation_ratio
from shuffledp.amplification.analyses import analyses as analyses
from shuffledp.audits import audit as audit
from shuffledp.bound import Bound as Bound
from shuffledp.calibration import calibrate as calibrate
from shuffledp.certificate import Certificate as Certificate, account as account
from shuffledp.certificate.verifier import verify as verify
from shuffledp.deployment import Deployment as Deployment
from shuffledp.errors import (
    NotCertified as NotCertified,
    ParameterError as ParameterError,
    ShuffleDPError as ShuffleDPError,
)
from shuffledp.mechanism.base import mechanism_from_dict as mechanism_from_dict
from shuffledp.multimessage import (
    BalcerCheu as BalcerCheu,
    BalcerEtAl as BalcerEtAl,
    BallsIntoBins as BallsIntoBins,
    CheuZhilyaev as CheuZhilyaev,
    MixDUMP as MixDUMP,
    MultiMessage as MultiMessage,
    PureDUMP as PureDUMP,
    protocol_names as protocol_names,
)
from shuffledp.planner import plan as plan
from shuffledp.published import shuffle_index as shuffle_index
from shuffledp.randomizers import (
    BLH as BLH,
    KRR as KRR,
    OLH as OLH,
    OUE as OUE,
    PCKVGRR as PCKVGRR,
    PIRAPPOR as PIRAPPOR,
    RAPPOR as RAPPOR,
    BinaryRR as BinaryRR,
    Channel as Channel,
    ClampedLaplace as ClampedLaplace,
    Density as Density,
    DiscreteGaussian as DiscreteGaussian,
    DiscreteLaplace as DiscreteLaplace,
    Duchi as Duchi,
    Gaussian as Gaussian,
    GaussianBall as GaussianBall,
    GeneralizedGaussian as GeneralizedGaussian,
    HadamardResponse as HadamardResponse,
    Hierarchy as Hierarchy,
    Hybrid as Hybrid,
    Joint as Joint,
    Laplace as Laplace,
    LaplaceBall as LaplaceBall,
    LocalHash as LocalHash,
    MetricLaplace as MetricLaplace,
    Parallel as Parallel,
    Piecewise as Piecewise,
    PoissonSubsample as PoissonSubsample,
    PrivUnit as PrivUnit,
    ProjectiveGeometry as ProjectiveGeometry,
    Randomizer as Randomizer,
    SamplingRAPPOR as SamplingRAPPOR,
    Staircase as Staircase,
    SubsetSelection as SubsetSelection,
    TruncatedLaplace as TruncatedLaplace,
    Wheel as Wheel,
    randomizer_names as randomizer_names,
)
from shuffledp.rounds import central as central, compose as compose
from shuffledp.surveys import survey as survey, survey_columns as survey_columns
from shuffledp.training import SGD as SGD
from shuffledp.views.noise import AddedNoise as AddedNoise
