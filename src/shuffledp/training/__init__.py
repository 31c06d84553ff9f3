"""Training: noise on users' gradients in random order, and on batches' sums."""

from shuffledp.training.account import SGD
from shuffledp.training.front import sgd

__all__ = ["SGD", "sgd"]
