"""Every way to change one thing in a JSON document; and a verifier that remembers its claims."""

import copy
import functools
import json
import re

from shuffledp.certificate import checksum, verifier
from shuffledp.errors import ParameterError

# What stands where only some words are allowed: each is tried in place of the others.
WORDS = {
    "base": ["oue", "k-rr", "rappor", "olh"],
    "end": ["upper", "lower"],
    "format": ["shuffledp-certificate/1", "shuffledp-certificate/3"],
    "key": ["blanket", "clone", "local", "dataset", "family", "replace-one", "records"],
    "name": ["k-rr", "binary-rr", "generic", "laplace"],
    "nulls": ["refuse", "drop", "category"],
    "outside": ["refuse", "drop", "category", "clip"],
    "quantity": ["epsilon", "delta"],
    "situation": ["now", "minimum batch", "shuffler fails"],
    "theorem": ["blanket", "symmetric", "clone", "dataset", "composition"],
    "trust": ["all", "published"],
}
_LONG_LIST = 12


def at(content, path):
    for step in path:
        content = content[step]
    return content


def others(value, name):
    """Values to put in place of a leaf."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value + 3, float(value), None]
    if isinstance(value, float):
        return [value * 1.3, value * 0.7, value * 1.02, value * 0.98, -value, 0.0, None]
    if value is None:
        return [0, 1, 0.5, "all", True, [], [[0, 1]]]
    return [
        *(w for w in WORDS.get(name, ()) if w != value),
        "edited",
        f"{value} ",
        value[:-1],
        None,
    ]


def edits(content, path=()):
    """(path, what was done, changed copy), each with one thing changed."""

    def changed(change):
        new = copy.deepcopy(content)
        change(new)
        return new

    here = at(content, path)
    if not isinstance(here, dict | list):
        for value in others(here, path[-1] if isinstance(path[-1], str) else path[-2]):
            if json.dumps(value) != json.dumps(here):
                yield path, value, changed(lambda c, v=value: put(c, path, v))
        return
    if isinstance(here, dict):
        for key in here:
            yield (*path, key), "deleted", changed(lambda c, k=key: at(c, path).pop(k))
            yield from edits(content, (*path, key))
        for key in ("edited", "hamming", "adaptive", "member", "release", "comment"):
            if key not in here:
                yield path, f"{key} added", changed(lambda c, k=key: put(c, (*path, k), None))
                yield path, f"{key} = 1 added", changed(lambda c, k=key: put(c, (*path, k), 1))
        return
    # Of a long list of numbers the ends and the middle; of claims all.
    places = range(len(here))
    if len(here) > _LONG_LIST and not isinstance(here[0], dict):
        places = sorted({0, 1, len(here) // 2, len(here) - 2, len(here) - 1})
    for i in places:
        yield (*path, i), "deleted", changed(lambda c, j=i: at(c, path).pop(j))
        yield (*path, i), "twice", changed(lambda c, j=i: at(c, path).insert(j, at(c, (*path, j))))
        if i and here[i] != here[i - 1]:
            yield (
                (*path, i),
                "moved",
                changed(lambda c, j=i: at(c, path).insert(0, at(c, path).pop(j))),
            )
        yield from edits(content, (*path, i))
    if here:
        yield path, "empty", changed(lambda c: put(c, path, []))
    yield path, "one more", changed(lambda c: at(c, path).append("edited"))


def put(content, path, value):
    at(content, path[:-1])[path[-1]] = value


def place(path):
    """A path without the numbers of items."""
    return re.sub(r"\.(\d+)", "[]", ".".join(map(str, path)))


def resigned(content):
    return {**content, "checksum": checksum(content)}


def outcome(content, where, **given):
    """All that verify says: its checks, or the line it refuses the file with."""
    where.write_text(json.dumps(content))
    try:
        return verifier.verify(where, **given)
    except ParameterError as error:
        return str(error)


def caught(found):
    return isinstance(found, str) or any(check.verdict != "holds" for check in found)


def remember(patch):
    """Let the verifier keep what it computed again: most of a changed certificate is as it was."""
    for name in ("answer_of", "estimate_check", "guarantee_check"):
        patch.setattr(verifier, name, _kept(getattr(verifier, name)))


def _kept(find):
    known = {}

    @functools.wraps(find)
    def kept(*args, **named):
        # All that decides it is in these.
        key = repr((args, named))
        if key not in known:
            known[key] = find(*args, **named)
        return known[key]

    return kept
