"""Training: noise on users' gradients in random order, and on batches' sums."""

from shuffledp.training.account import SGD

__all__ = ["SGD"]
