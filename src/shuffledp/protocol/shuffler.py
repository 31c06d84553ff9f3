"""The shuffler: a uniform permutation of reports, out of core where they do not fit memory.

Reports that fit are permuted in memory and never touch the disk. Of more, every report goes to a
bucket drawn uniformly and independently; each bucket is permuted uniformly in memory; buckets are
read one after the other. That is a uniform permutation of all reports: it orders them by (bucket,
order within), i.i.d. keys with ties broken uniformly. A bucket that turns out too large is split
into buckets in the same way. What comes out has neither the order nor the batches of what went in.

Buckets are files without a name: what a process leaves that is killed is gone with it. Each batch
is permuted before it is written, so that no file ever holds reports in the users' order.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError, rejected, unreadable
from shuffledp.randomness import RandomSource, SystemSource

_SMALLEST_BUDGET = 1 << 20
# Files of one level: for 64 times as many reports as fit memory, and few enough that three levels
# stay below the 1024 open files that systems give a process.
_BUCKETS = 64
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
    memory : int
        Bytes that the reports of one bucket may take while they are permuted.
    source : RandomSource, optional
        The operating system's if not given.
    directory : Path, optional
        Where to spill.
    """

    def __init__(
        self,
        *,
        memory: int = 256 << 20,
        source: RandomSource | None = None,
        directory: Path | None = None,
    ) -> None:
        if memory < _SMALLEST_BUDGET:
            raise rejected("memory", memory, f"at least {_SMALLEST_BUDGET:,} bytes")
        self._memory = memory
        self._source = source or SystemSource()
        self._stack = contextlib.ExitStack()
        self._where = directory
        self._held: list[np.ndarray] = []
        self._buckets: list[Any] = []
        self._sample: np.ndarray | None = None  # no report, of the type and width of all
        self.count = 0

    def __enter__(self) -> Shuffler:  # noqa: PYI034 (Self is Python 3.11)
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def add(self, reports: np.ndarray) -> None:
        """Take a batch of reports, all batches of one type and width."""
        if not len(reports):
            return
        sample = reports[:0].copy() if self._sample is None else self._sample
        self._sample = sample
        if reports.dtype != sample.dtype or reports.shape[1:] != sample.shape[1:]:
            found, first = ((str(x.dtype), x.shape[1:]) for x in (reports, sample))
            raise rejected("reports", found, f"{first} as before")
        self.count += len(reports)
        self._held.append(reports)
        if self._buckets or self.count > self._most:
            self._buckets = self._buckets or self._files(self._stack)
            while self._held:
                self._spill(self._held.pop(), self._buckets)

    def batches(self) -> Iterator[np.ndarray]:
        """The reports, uniformly permuted, a bucket at a time; call it once, after the last add."""
        if self._held:
            held = np.concatenate(self._held)
            self._held = []
            yield shuffle_reports(held, self._source)
        while self._buckets:
            with self._buckets.pop(0) as bucket:
                yield from self._permuted(bucket)

    @property
    def _row_bytes(self) -> int:
        sample = self._sample
        return 1 if sample is None else sample.dtype.itemsize * math.prod(sample.shape[1:])

    @property
    def _most(self) -> int:
        """Reports that are permuted in memory."""
        return max(self._memory // (2 * self._row_bytes + _BYTES_FOR_KEYS), 1)

    def _permuted(self, bucket: Any) -> Iterator[np.ndarray]:
        rows = bucket.seek(0, 2) // self._row_bytes
        bucket.seek(0)
        if rows <= self._most:
            if rows:
                yield shuffle_reports(self._read(bucket, rows), self._source)
            return
        with contextlib.ExitStack() as stack:
            parts = self._files(stack)
            for start in range(0, rows, self._most):
                self._spill(self._read(bucket, min(self._most, rows - start)), parts)
            bucket.close()
            for part in parts:
                with part:
                    yield from self._permuted(part)

    def _read(self, bucket: Any, rows: int) -> np.ndarray:
        sample: Any = self._sample
        data = bucket.read(rows * self._row_bytes)
        return np.frombuffer(data, dtype=sample.dtype).reshape(rows, *sample.shape[1:])

    def _spill(self, reports: np.ndarray, buckets: list[Any]) -> None:
        """To buckets at random, each batch in random order."""
        mixed = shuffle_reports(reports, self._source)
        bucket = self._source.below(len(buckets), len(mixed)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(len(buckets) + 1))
        mixed = mixed[order]
        with self._on_disk():
            for file, start, stop in zip(buckets, edges[:-1], edges[1:], strict=True):
                if stop > start:
                    file.write(np.ascontiguousarray(mixed[start:stop]).tobytes())
                    file.flush()

    def _files(self, stack: contextlib.ExitStack) -> list[Any]:
        with self._on_disk():
            return [
                stack.enter_context(tempfile.TemporaryFile(dir=self._where))
                for _ in range(_BUCKETS)
            ]

    @contextlib.contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = str(self._where or tempfile.gettempdir())
            raise ParameterError(f"spill directory {where!r}: {unreadable(error)}") from None
