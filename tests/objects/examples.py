"""One of every mechanism and protocol, and another value of each of their fields."""

import shuffledp as sd
from catalogue import CATALOGUE
from shuffledp.mechanism.base import mechanism_class
from shuffledp.multimessage.base import protocol_names
from shuffledp.randomizers.base import randomizer_names

# The arguments of one of each.
ARGUMENTS = {name: entry.arguments for name, entry in CATALOGUE.items()}
# Other values by parameter; of several the first that the mechanism takes, given the rest.
OTHERS = {
    "base": ("rappor",),
    "binary": (True,),
    "blankets": (5,),
    "blocks": (3,),
    "branching": (2,),
    "c": (0.5,),
    "clamped": (True,),
    "d": (12,),
    "distance": (0.25,),
    "domain": (12,),
    "eps0": (2.5,),
    "f": (0.125,),
    "hamming": (1,),
    "high": (2.0,),
    "k": (3,),
    "l": (4,),
    "low": (-2.0,),
    "margin": (1.0,),
    "matrix": (((0.5, 0.5), (0.25, 0.75)),),
    "normalize": (True,),
    "p": (0.0625,),
    "padding": (True,),
    "pattern": (((1, 0), (0, 1)),),
    "q": (7,),
    "radius": (2.0,),
    "randomizer": (sd.KRR(k=4, eps0=2.0),),
    "randomizers": ((sd.KRR(k=4, eps0=2.0), sd.KRR(k=2, eps0=1.0)),),
    "rate": (0.25,),
    "s": (1,),
    "scale": (4.0,),
    "shape": (2.5,),
    "sigma": (4.0,),
    "top": (6,),
    "weights": ((0.5, 0.5),),
    "width": (0.25,),
}
# What another value of one field asks of another.
WITH = {
    ("channel", "normalize"): {"normalize": True, "matrix": ((3.0, 1.0), (1.0, 1.0))},
}


def class_of(name):
    """The class of a mechanism or a protocol."""
    return mechanism_class(name)


NAMES = sorted((*randomizer_names(), *protocol_names()))


def example(name):
    """One of them."""
    return class_of(name)(**ARGUMENTS[name])
