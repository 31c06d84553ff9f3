"""Surveys: a column of a table -> estimates with intervals, and the certificate of this very run.

Plan (``planner``), run (``protocol``), account and certify, in one call; needs the extra ``run``,
and ``notebook`` for tables other than Arrow's.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shuffledp import _check
from shuffledp.bound import Bound, outward
from shuffledp.errors import NotCertified, ParameterError, not_installed, rejected
from shuffledp.notebook import Drawn, Record, Sheet
from shuffledp.planner import Plan, plan

if TYPE_CHECKING:
    from shuffledp.certificate import Certificate
    from shuffledp.protocol.answers import Row

# One noisy message a user, whose noise is drawn exactly, solved for in seconds; others by name.
_FOR_ITEMS = ("k-rr", "subset", "oue", "olh", "rappor")
_FOR_MEANS = ("piecewise", "hybrid", "duchi")
_NAME = "survey"
# Significant digits of an estimate that is shown, more where its error would be lost in them.
_DIGITS = 4
_NOT_HIDDEN = (
    "not protected: whether a row is left out; the number of users, and of rows left out, is exact"
)


def _silent(message: str) -> None:
    del message


@dataclass(frozen=True, repr=False)
class Survey(Drawn):
    """What a survey found, and what it cost.

    Attributes
    ----------
    column : str
        Which column.
    rows : tuple of Row
        An estimate with its errors and intervals for each item, in the domain's order, or of the
        mean.
    confidence : float
        Of the intervals.
    users : int
        Rows with a value: whose reports were shuffled.
    nulls, outside : int
        Rows left out because they asked for it (``nulls``, ``outside`` = "drop").
    bound : Bound
        Central eps of one round, both ends certified.
    plan : Plan
        Every mechanism that was looked at.
    deployment : str
        The deployment file that was run, as TOML.
    certificate : Certificate
        For the users that were seen and this table of estimates.
    table : str
        The estimates as CSV, of which the certificate has the sha256.
    notes : tuple of str
        What to know of the estimates.
    """

    column: str
    rows: tuple[Row, ...]
    confidence: float
    users: int
    nulls: int
    outside: int
    bound: Bound
    plan: Plan
    deployment: str
    certificate: Certificate
    table: str
    notes: tuple[str, ...] = ()

    def records(self) -> list[Record]:
        """One row for each estimate; errors and intervals are in the units of the estimate."""
        found = [asdict(row) for row in self.rows]
        for row in found:
            del row["column"]
        return found

    def sheet(self) -> Sheet:
        """What a notebook shows."""
        # Not rounded: 99.9 % is not to be read as 100 %.
        share = f"{(Decimal(repr(self.confidence)) * 100).normalize():f}%"
        head = ("item", "estimate", "std. error", f"{share} interval", f"{share}, all at once")
        assumed = dict.fromkeys((*self.bound.assumptions, *self.certificate.assumptions))
        notes = (
            *self._left_out(),
            *self.notes,
            f"theorems: {self.bound.theorem}",
            *(f"assumes: {words}" for words in assumed),
        )
        return Sheet(self._line(), head, tuple(map(_shown, self.rows)), notes)

    def _left_out(self) -> list[str]:
        """Rows without a report, and that no guarantee hides which these are."""
        found = [
            f"{count:,} rows left out: {why}"
            for count, why in ((self.nulls, "no value"), (self.outside, "outside the domain"))
            if count
        ]
        data = self.certificate.deployment.content.data
        if data is not None and "drop" in (data.nulls, data.outside):
            found.append(_NOT_HIDDEN)
        return found

    def _draw(self, bands: Any, ax: Any) -> Any:
        """The estimates with their intervals for all at once, in the domain's order."""
        from shuffledp.protocol.figure import draw_estimates

        axes = bands.axes_of(ax)
        draw_estimates(axes, self.rows, title=self.column, truth=None, n=self.users)
        return axes

    def save(self, directory: str | Path) -> tuple[Path, ...]:
        """Write survey.toml, survey.csv and survey.certificate.json: all of them or none.

        Parameters
        ----------
        directory : path
            Made if it is not there. ``shuffledp verify`` reads the certificate with
            ``--deployment survey.toml --table survey.csv``.

        Raises
        ------
        ParameterError
            If they cannot be written there.
        """
        from shuffledp.certificate import to_json
        from shuffledp.outputs import writing

        folder = Path(directory)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            raise rejected("directory", str(directory), "a directory that can be made") from None
        texts = {
            folder / f"{_NAME}.toml": self.deployment,
            folder / f"{_NAME}.certificate.json": to_json(self.certificate),
            folder / f"{_NAME}.csv": self.table,
        }
        with writing([("directory", path) for path in texts]) as held:
            for path, text in texts.items():
                held.write(path, text)
        return tuple(texts)

    def _line(self) -> str:
        high = outward(self.bound.upper, up=True, digits=4)
        best = self.plan.recommended
        name = "" if best is None else f" by {best.source.name}"
        kept = f"central eps <= {high} nats at delta = {self.bound.at['delta']:g}, certified"
        after = f" (one of {self.plan.rounds:,} rounds)" if self.plan.rounds > 1 else ""
        return f"{self.column}: {self.users:,} users{name}; {kept}{after}"

    def __repr__(self) -> str:
        return f"Survey({self._line()}; {len(self.rows)} estimates)"

    def __hash__(self) -> int:
        return hash((self.table, self.deployment, self.certificate.checksum))

    def __str__(self) -> str:
        sheet = self.sheet()
        lines = [sheet.head, *sheet.rows]
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            "  ".join(cell.ljust(w) for cell, w in zip(line, wide, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([sheet.caption, "", *body, "", *sheet.notes])


def survey(
    data: Any,
    column: str,
    *,
    epsilon: float,
    delta: float,
    domain: Iterable[str | int] | None = None,
    low: float | None = None,
    high: float | None = None,
    rounds: int = 1,
    minimum_batch: int | None = None,
    colluding: float = 0.0,
    nulls: Literal["refuse", "drop", "category"] = "refuse",
    outside: Literal["refuse", "drop", "category", "clip"] = "refuse",
    type: Literal["text", "integer", "number"] | None = None,  # noqa: A002 (as in files)
    trust: Literal["all", "published"] = "all",
    mechanisms: Iterable[str] | None = None,
    confidence: float = 0.95,
    title: str | None = None,
    report: Callable[[str], None] = _silent,
) -> Survey:
    """Choose a mechanism for a target, run it on a column, and certify what was run.

    The mechanism is the most accurate of those that meet the target for as many users as have a
    value. Their values are randomized with random numbers of the operating system, shuffled,
    added up and estimated from; the table itself plays the users, so that whoever holds it is
    trusted as much as before. What is released is the result.

    Parameters
    ----------
    data : data frame, table or mapping
        One row a user: pandas, polars and whatever narwhals reads, PyArrow tables, or columns by
        their names.
    column : str
        Which column holds the values.
    epsilon, delta : float
        Target after all rounds: certified central eps > 0 in nats, 0 < delta < 1.
    domain : sequence of str or int, optional
        All values there can be, 2 or more. It has to be public: a list read off the data would
        itself tell that somebody holds a rare value.
    low, high : float, optional
        In place of a domain: ends of the numbers whose mean is estimated. Public too.
    rounds : int
        In how many such surveys the same users take part, all by the mechanism chosen here.
    minimum_batch : int, optional
        Users below which nothing is released; the target is met for that many. By default all.
    colluding : float
        Share of the users whose messages hide nobody, in [0, 1).
    nulls : {"refuse", "drop", "category"}
        Rows without a value: an error, left out, or an item of their own. Neighbours have equally
        many users: which rows are left out is not protected, which hold the item is.
    outside : {"refuse", "drop", "category", "clip"}
        Values outside the domain: the same; "clip" moves numbers to the nearer end.
    type : {"text", "integer", "number"}, optional
        What values are read as where they are stored as something else.
    trust : {"all", "published"}
        "published" leaves out what is proved only in docs/.
    mechanisms : iterable of str, optional
        Labels of a plan to choose from. By default k-rr, subset, oue, olh and rappor for items,
        piecewise, hybrid and duchi for means.
    confidence : float
        Of the intervals, in (0, 1).
    title : str, optional
        Heads the certificate.
    report : callable
        Told in a few words what is being computed.

    Raises
    ------
    ParameterError
        If an argument or a value of the column is not what was wanted, too few rows have a value,
        or an extra is not installed.
    NotCertified
        If no mechanism meets the target.

    Examples
    --------
    >>> import shuffledp as sd
    >>> pages = {"page": ["home", "help", "home", "shop"] * 500}
    >>> asked = {"domain": ["home", "help", "shop"], "epsilon": 1.0, "delta": 1e-6}
    >>> found = sd.survey(pages, "page", mechanisms=["k-rr"], **asked)
    >>> found.users, found.bound.upper <= 1.0
    (2000, True)
    """
    if not isinstance(column, str) or not column:
        raise rejected("column", column, "the name of a column")
    settings: dict[str, Any] = {"nulls": nulls, "outside": outside, "type": type}
    confidence = _check.open_unit("confidence", confidence)
    task = _task(domain, low, high)
    if task["kind"] == "frequencies":
        settings["domain"] = _items(domain)
    parts = _parts()
    engine = parts.memory.ArrayEngine(_table(data, column))
    chosen = parts.columns.Column(name=column, **settings)
    if task["kind"] == "frequencies":
        task["values"] = len(chosen.items)
    users = _users(parts, engine, chosen, task)
    content = parts.planning.parse_plan(
        {
            "title": f"Survey of {column}" if title is None else title,
            "task": task,
            "population": _given(users=users, minimum_batch=minimum_batch, colluding=colluding),
            "target": {"epsilon": epsilon, "delta": delta, "rounds": rounds, "trust": trust},
        },
        where=_NAME,
    )
    usual = _FOR_ITEMS if task["kind"] == "frequencies" else _FOR_MEANS
    found = plan(
        content.task.task(),
        n=users,
        hidden=content.hidden,
        epsilon=content.target.epsilon,
        delta=content.target.delta,
        rounds=content.target.rounds,
        trust=content.target.trust,
        only=usual if mechanisms is None else mechanisms,
        report=report,
    )
    row = found.recommended
    if row is None:
        raise NotCertified(_missed(found))
    report(f"{row.label}, running")
    text = parts.planning.deployment_text(content, row, data=_given(column=column, **settings))
    source = parts.deployment.DeploymentFile(
        Path(f"{_NAME}.toml"),
        hashlib.sha256(text.encode()).hexdigest(),
        parts.deployment.parse(parts.tomllib.loads(text), where=_NAME),
    )
    result = parts.run.run(
        source, engine, chosen, settings=parts.run.Settings(), confidence=confidence
    )
    _check_target(result.account, content.target.epsilon)
    table = parts.run.table(result.rows)
    release = parts.certificate.Release(
        table=f"{_NAME}.csv",
        sha256=hashlib.sha256(table.encode()).hexdigest(),
        users=result.outcome.users,
        declared_users=users,
        nulls=result.outcome.nulls,
        outside=result.outcome.outside,
    )
    return Survey(
        column=column,
        rows=result.rows,
        confidence=confidence,
        users=result.outcome.users,
        nulls=result.outcome.nulls,
        outside=result.outcome.outside,
        bound=result.account.situations[0].bound,
        plan=found,
        deployment=text,
        certificate=parts.certificate.issue(source, result.account, release=release),
        table=table,
        notes=result.notes,
    )


def _shown(row: Row) -> tuple[str, ...]:
    """A row of a sheet: intervals rounded outward, in steps of a tenth of the error at most."""
    from shuffledp.protocol.answers import digits_of

    digits = digits_of(row, least=_DIGITS)

    def interval(low: float, high: float) -> str:
        ends = ((low, False), (high, True))
        return " to ".join(
            outward(value, up=up, digits=digits) if math.isfinite(value) else f"{value:g}"
            for value, up in ends
        )

    return (
        row.item,
        f"{row.estimate:.{digits}g}",
        f"{row.noise_error:.2g}",
        interval(row.low, row.high),
        interval(row.low_all, row.high_all),
    )


def _given(**values: Any) -> dict[str, Any]:
    """Those that are set; tuples as lists, as in a file."""
    found = {key: value for key, value in values.items() if value is not None}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}


def _parts() -> Any:
    """The modules that need the extra ``run``, or one line that names it."""
    from types import SimpleNamespace

    try:
        from shuffledp import certificate, deployment
        from shuffledp.deployment import plan as planning
        from shuffledp.deployment.model import tomllib
        from shuffledp.protocol import columns, run
        from shuffledp.protocol.engines import memory
    except ModuleNotFoundError as error:
        raise ParameterError(not_installed("survey", [error.name or "pyarrow"], "run")) from None
    return SimpleNamespace(
        certificate=certificate,
        columns=columns,
        deployment=deployment,
        memory=memory,
        planning=planning,
        run=run,
        tomllib=tomllib,
    )


def _task(domain: Any, low: Any, high: Any) -> dict[str, Any]:
    """What is estimated, as a plan file says it."""
    if domain is not None and (low is not None or high is not None):
        raise ParameterError("domain: wanted a domain of items, or low and high, not both")
    if domain is not None:
        return {"kind": "frequencies"}
    if low is None or high is None:
        raise ParameterError(
            "domain is missing: wanted the public list of all values, or low and high of numbers"
        )
    return {"kind": "mean", "low": low, "high": high}


def _items(domain: Any) -> tuple[Any, ...]:
    """The domain's items as Python's own text and numbers, in their order."""
    if isinstance(domain, str | bytes | set | frozenset | Mapping):
        raise rejected("domain", domain, "a list of items in order")
    for name in ("tolist", "to_list", "to_pylist"):
        if hasattr(domain, name):
            domain = getattr(domain, name)()
            break
    try:
        return tuple(getattr(item, "item", lambda item=item: item)() for item in domain)
    except TypeError:
        raise rejected("domain", domain, "a list of items in order") from None


def _users(parts: Any, engine: Any, column: Any, task: Mapping[str, Any]) -> int:
    """Rows with a value; what is refused is refused before anything is planned."""
    from shuffledp.randomizers import KRR, Duchi

    if task["kind"] == "mean":
        stand_in: Any = Duchi(eps0=1.0, low=task["low"], high=task["high"])
    else:
        stand_in = KRR(k=task["values"], eps0=1.0)
    column.check(stand_in)
    users = before = 0
    for batch in engine.arrays(column.names, parts.run.Settings()):
        users += len(column.encode(batch, stand_in, before=before).values)
        before += len(batch)
    if not users:
        raise rejected("data", f"{before:,} rows", "at least one row with a value")
    return users


def _check_target(account: Any, epsilon: float) -> None:
    """NotCertified where what was run misses the target; then nothing is released."""
    for situation in account.situations:
        reached = (situation.composed or situation.bound).upper
        if situation.name != "shuffler fails" and not reached <= epsilon:
            raise NotCertified(
                f"{situation.name}: eps <= {outward(reached, up=True)} is certified, "
                f"epsilon = {epsilon:g} was wanted; nothing is released"
            )


def _missed(found: Plan) -> str:
    why = "; ".join(f"{label}: {reason}" for label, reason in found.left_out)
    target = f"epsilon = {found.epsilon:g}, delta = {found.delta:g}"
    return f"no mechanism meets {target} with {found.hidden:,} users: {why}"


# ------------------------------------------------------------------------------- reading tables


def _table(data: Any, column: str) -> Any:
    """One column as an Arrow table; the rest of the data is not looked at."""
    import pyarrow as pa

    try:
        if isinstance(data, Mapping):
            found: Any = _named(data, column, list(data))
        elif isinstance(data, pa.Table | pa.RecordBatch):
            found = _named(data, column, data.schema.names)
        else:
            found = _from_frame(data, column)
        return pa.table({column: found})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise
        # Arrow's own message may quote a value, and messages end up in logs.
        wanted = "wanted one kind of value: text, whole numbers or numbers"
        raise ParameterError(f"column {column!r}: {wanted}") from None


def _named(data: Any, column: str, names: list[Any]) -> Any:
    if names.count(column) != 1:
        there = ", ".join(str(name) for name in names[:20])
        raise rejected("column", column, f"one of {there}" if there else "a table with columns")
    return data[column]


def _from_frame(data: Any, column: str) -> Any:
    """The column of a data frame, by narwhals, or by Arrow's own interface where it is enough."""
    import pyarrow as pa

    if importlib.util.find_spec("narwhals") is None:
        if hasattr(data, "__arrow_c_stream__"):
            table = pa.table(data)
            return _named(table, column, table.schema.names)
        raise ParameterError(not_installed("a data frame", ["narwhals"], "notebook"))
    import narwhals as nw

    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise ParameterError("data: wanted every column under a name of its own") from None
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        kind = type(data).__name__
        raise ParameterError(f"data is a {kind}: wanted a data frame, or columns by their names")
    names = list(frame.collect_schema().names())
    if names.count(column) != 1:
        _named(None, column, names)
    chosen = frame.select(column)
    if isinstance(chosen, nw.LazyFrame):
        chosen = chosen.collect()
    return chosen.to_arrow()[column]
