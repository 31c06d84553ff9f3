"""The shuffler: a uniform permutation of reports, out of core where they do not fit memory.

Every report goes to a bucket drawn uniformly and independently; each bucket is permuted uniformly
in memory; buckets are read one after the other. That is a uniform permutation of all reports: it
orders them by (bucket, order within), i.i.d. keys with ties broken uniformly. What comes out has
neither the order nor the batches of what went in.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError, rejected
from shuffledp.randomness import RandomSource, SystemSource

_SMALLEST_BUDGET = 1 << 20
_MOST_BUCKETS = 512
# Keys, the order and a copy of the reports stand beside each other while a bucket is permuted.
_BYTES_FOR_KEYS = 32


def shuffle_reports(reports: np.ndarray, source: RandomSource | None = None) -> np.ndarray:
    """Reports in uniformly random order (randomness of the operating system if none is given)."""
    order = (source or SystemSource()).permutation(len(reports))
    return reports[order]


class Shuffler:
    """Takes reports in any order, gives them back in uniformly random order.

    Parameters
    ----------
    expected : int
        About how many reports will come; only memory depends on it.
    memory : int
        Bytes that one bucket may take while it is permuted.
    source : RandomSource, optional
        The operating system's if not given.
    directory : Path, optional
        Where to spill.
    """

    def __init__(
        self,
        *,
        expected: int,
        memory: int = 256 << 20,
        source: RandomSource | None = None,
        directory: Path | None = None,
    ) -> None:
        if memory < _SMALLEST_BUDGET:
            raise rejected("memory", memory, f"at least {_SMALLEST_BUDGET:,} bytes")
        self._expected, self._memory = max(expected, 1), memory
        self._source = source or SystemSource()
        self._stack = contextlib.ExitStack()
        self._where = directory
        self._files: list[Any] = []
        self._paths: list[Path] = []
        self._kind: np.dtype[Any] | None = None
        self._width: tuple[int, ...] = ()
        self.count = 0

    def __enter__(self) -> Shuffler:  # noqa: PYI034 (Self is Python 3.11)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def add(self, reports: np.ndarray) -> None:
        """Take a batch of reports, all batches of one type and width."""
        if not len(reports):
            return
        if self._kind is None:
            self._open(reports)
        if reports.dtype != self._kind or reports.shape[1:] != self._width:
            found = (str(reports.dtype), reports.shape[1:])
            raise rejected("reports", found, f"({self._kind}, {self._width}) as before")
        self.count += len(reports)
        if len(self._files) == 1:
            self._files[0].write(np.ascontiguousarray(reports).tobytes())
            return
        bucket = self._source.below(len(self._files), len(reports))
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(len(self._files) + 1))
        ordered = reports[order]
        for file, start, stop in zip(self._files, edges[:-1], edges[1:], strict=True):
            if stop > start:
                file.write(ordered[start:stop].tobytes())

    def batches(self) -> Iterator[np.ndarray]:
        """The reports, uniformly permuted, a bucket at a time; call it once, after the last add."""
        for file, path in zip(self._files, self._paths, strict=True):
            file.close()
            reports = np.fromfile(path, dtype=self._kind).reshape(-1, *self._width)
            path.unlink()
            if len(reports):
                yield shuffle_reports(reports, self._source)

    def _open(self, first: np.ndarray) -> None:
        self._kind, self._width = first.dtype, first.shape[1:]
        size = first.dtype.itemsize * math.prod(self._width) * 2 + _BYTES_FOR_KEYS
        buckets = min(max(1, math.ceil(self._expected * size / self._memory)), _MOST_BUCKETS)
        try:
            held = tempfile.TemporaryDirectory(prefix="shuffledp-", dir=self._where)
            directory = Path(self._stack.enter_context(held))
            self._paths = [directory / f"{i:04d}" for i in range(buckets)]
            self._files = [self._stack.enter_context(path.open("wb")) for path in self._paths]
        except OSError as error:
            raise ParameterError(f"spill directory: {error.strerror}") from None
