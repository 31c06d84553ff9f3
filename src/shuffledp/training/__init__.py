"""Training: the privacy of SGD, with noise on users' gradients or on batches' sums."""

from shuffledp.training.batches import BatchedSGD
from shuffledp.training.front import sgd, sgd_noise

__all__ = ["BatchedSGD", "sgd", "sgd_noise"]
