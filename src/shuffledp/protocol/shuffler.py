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
from types import TracebackType
from typing import Any

import numpy as np

from shuffledp.errors import ParameterError, rejected, unreadable
from shuffledp.randomness import RandomSource, SystemSource

_SMALLEST_BUDGET = 1 << 20
# Open files of one level; a bucket that is split holds its own level open beside it, and three
# levels (256^3 buckets) stay below the 1024 files that systems give a process.
_MOST_BUCKETS = 256
# Where nobody knew that reports would not fit: enough for 16 times as many, then they are split.
_BUCKETS_UNFORESEEN = 16
# Keys, the order and a copy of the reports stand beside each other while a bucket is permuted.
_BYTES_FOR_KEYS = 32
# Buckets are filled by chance, sqrt(rows) up or down; a quarter over is no chance any more.
_OVER = 1.25


def shuffle_reports(reports: np.ndarray, source: RandomSource | None = None) -> np.ndarray:
    """Reports in uniformly random order (randomness of the operating system if none is given)."""
    order = (source or SystemSource()).permutation(len(reports))
    return reports[order]


class Shuffler:
    """Takes reports in any order, gives them back in uniformly random order.

    Parameters
    ----------
    expected : int
        About how many reports will come; only the number of buckets depends on it.
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
        self._held: list[np.ndarray] = []
        self._buckets: list[Any] = []
        self._kind: np.dtype[Any] | None = None
        self._width: tuple[int, ...] = ()
        self._most = 0  # reports of one bucket
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
            self._begin(reports)
        if reports.dtype != self._kind or reports.shape[1:] != self._width:
            found = (str(reports.dtype), reports.shape[1:])
            raise rejected("reports", found, f"({self._kind}, {self._width}) as before")
        self.count += len(reports)
        if self._buckets:
            self._spill(reports, self._buckets)
            return
        self._held.append(reports)
        if self.count > _OVER * self._most:
            self._buckets = self._files(_BUCKETS_UNFORESEEN)
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

    def _begin(self, first: np.ndarray) -> None:
        self._kind, self._width = first.dtype, first.shape[1:]
        size = first.dtype.itemsize * math.prod(self._width) * 2 + _BYTES_FOR_KEYS
        self._most = max(self._memory // size, 1)
        if self._expected > self._most:
            self._buckets = self._files(math.ceil(self._expected / self._most))

    def _permuted(self, bucket: Any) -> Iterator[np.ndarray]:
        size = self._row_bytes()
        rows = bucket.seek(0, 2) // size
        bucket.seek(0)
        if rows <= _OVER * self._most:
            reports = self._read(bucket, rows)
            if rows:
                yield shuffle_reports(reports, self._source)
            return
        with contextlib.ExitStack() as stack:
            parts = self._files(math.ceil(rows / self._most), stack)
            for start in range(0, rows, self._most):
                self._spill(self._read(bucket, min(self._most, rows - start)), parts)
            bucket.close()
            for part in parts:
                with part:
                    yield from self._permuted(part)

    def _read(self, bucket: Any, rows: int) -> np.ndarray:
        data = bucket.read(rows * self._row_bytes())
        return np.frombuffer(data, dtype=self._kind).reshape(rows, *self._width)

    def _row_bytes(self) -> int:
        kind = self._kind
        return 0 if kind is None else kind.itemsize * math.prod(self._width)

    def _spill(self, reports: np.ndarray, buckets: list[Any]) -> None:
        """To buckets at random, each batch in random order."""
        mixed = shuffle_reports(reports, self._source)
        if len(buckets) > 1:
            bucket = self._source.below(len(buckets), len(mixed)).astype(np.uint16)
            order = np.argsort(bucket, kind="stable")
            edges = np.searchsorted(bucket[order], np.arange(len(buckets) + 1))
            mixed = mixed[order]
        else:
            edges = np.array([0, len(mixed)])
        with self._on_disk():
            for file, start, stop in zip(buckets, edges[:-1], edges[1:], strict=True):
                if stop > start:
                    file.write(np.ascontiguousarray(mixed[start:stop]).tobytes())
                    file.flush()

    def _files(self, count: int, stack: contextlib.ExitStack | None = None) -> list[Any]:
        count = min(max(count, 2), _MOST_BUCKETS)
        stack = stack or self._stack
        with self._on_disk():
            return [
                stack.enter_context(tempfile.TemporaryFile(dir=self._where)) for _ in range(count)
            ]

    @contextlib.contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = str(self._where or tempfile.gettempdir())
            raise ParameterError(f"spill directory {where!r}: {unreadable(error)}") from None
