"""Certificates of every kind of deployment, issued once: what is verified, edited and forged."""

import copy
import functools
import tempfile
from dataclasses import replace
from pathlib import Path

from shuffledp.certificate import Release, issue, to_dict
from shuffledp.deployment import account, load
from shuffledp.protocol.run import seen

USERS = "users = 70\nparticipation = 0.9\nminimum_batch = 30\ncolluding = 0.02"
DATA = '[data]\ncolumn = "x"\ndomain = ["a", "b", "c", "d", "e"]\nnulls = "drop"'
KRR = 'name = "k-rr"\nk = 5\neps0 = 2.0'
BITS = 'name = "binary-rr"\neps0 = 1.0'
RAPPOR = 'name = "rappor"\nd = 3\neps0 = 2.0'
NORMAL = 'name = "gaussian"\nsigma = 2.0\nlow = 0.0\nhigh = 1.0'
JOINT = """name = "joint"
hamming = 1
randomizers = [{ name = "k-rr", k = 3, eps0 = 0.5 }, { name = "binary-rr", eps0 = 0.75 }]"""
CHANNEL = 'name = "channel"\nmatrix = [[0.8, 0.2], [0.35, 0.65], [0.5, 0.5]]'


def one(mechanism, *, head="", users=USERS, target="delta = 1e-4", more="", rtol=1e-4):
    """The file of a deployment with one mechanism."""
    if "[accounting]" not in more:
        more = f"[accounting]\n{more}" if more.startswith(("rounds", "trust")) else more
    if "[accounting]\n" in more:
        more = more.replace("[accounting]\n", f"[accounting]\nrtol = {rtol}\n")
    else:
        more = f"[accounting]\nrtol = {rtol}\n{more}"
    return (
        f'title = "A title"\n{head}\n[population]\n{users}\n[randomizer]\n{mechanism}\n'
        f"[target]\n{target}\n{more}\n"
    )


def sums(mechanism, *, head="", more="", **said):
    """Of one whose analyst sees sums."""
    users = "users = 60\nparticipation = 0.9\nminimum_batch = 20\ncolluding = 0.02"
    return one(mechanism, head=f'view = "sums"\n{head}', users=users, more=more, **said)


def crowd(*groups, target="delta = 1e-3", more=""):
    """Of a crowd: (users, mechanism in a line) for each group."""
    tables = "".join(f"[[group]]\nusers = {n}\nrandomizer = {{ {m} }}\n" for n, m in groups)
    return f'title = "A title"\n{tables}[target]\n{target}\n{more}\n'


RUN = "a run"
KINDS = {
    "one round": one(KRR, more=DATA),
    "a delta": one(KRR, target="epsilon = 0.7\nat_most = 0.1"),
    RUN: one(KRR, more=DATA),
    "adaptive family": one('name = "generic"\neps0 = 1.0\nadaptive = true'),
    "family": one('name = "generic"\neps0 = 1.0'),
    "published": one('name = "duchi"\neps0 = 1.3', more='trust = "published"'),
    "joint": one(JOINT),
    "stealing": one('name = "rappor"\nd = 6\neps0 = 2.0', users="users = 300"),
    "bits": one(CHANNEL, users="users = 400"),
    "protocol": one('name = "balcer-et-al"\nblankets = 2', target="delta = 1e-5"),
    "rounds": one(BITS, users="users = 30\nminimum_batch = 20", more="rounds = 2", rtol=1e-3),
    "rounds, stolen": one('name = "binary-rr"\neps0 = 2.0', users="users = 3000",
                          target="delta = 1e-4", more="rounds = 5", rtol=1e-3),
    "lone jump": one('name = "gaussian"\nsigma = 0.7', users="users = 10_000",
                     target="delta = 1e-6", rtol=1e-5),
    "sums": sums(RAPPOR),
    "sums, a delta": sums('name = "oue"\nd = 4\neps0 = 1.5', head="ones = 2",
                          target="epsilon = 0.7"),
    "sums, one coordinate": sums(RAPPOR, head='relation = "replace-special"'),
    "sums of normal noise": sums(NORMAL, more="rounds = 3"),
    "sums of bits": sums(BITS, target="epsilon = 0.7"),
    "sums, rounds": sums(BITS, more="rounds = 2"),
    "sums, noise": sums(BITS, more='[added]\nkind = "discrete-laplace"\nscale = 2.5'),
    "crowd": crowd((300, 'name = "binary-rr", eps0 = 1.0'), (200, 'name = "duchi", eps0 = 3.0'),
                   target="delta = 1e-3\nat_most = 2.0"),
    "crowd of responses": crowd(
        (400, 'name = "k-rr", k = 5, eps0 = 1.0'), (300, 'name = "k-rr", k = 5, eps0 = 2.0'),
        (1, 'name = "k-rr", k = 5, eps0 = 0.5'), target="epsilon = 0.2"),
    "crowd of matrices": crowd(
        (200, 'name = "channel", matrix = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]'),
        (300, 'name = "channel", matrix = [[0.75, 0.125, 0.125], [0.25, 0.25, 0.5]]'),
        target="delta = 1e-4"),
    "crowd apart": crowd(
        (60, 'name = "rappor", d = 4, eps0 = 1.0'), (40, 'name = "laplace", eps0 = 1.0'),
        more='[accounting]\ntrust = "published"\nrtol = 1e-3'),
    "crowd of one mechanism": crowd(
        (60, 'name = "k-rr", k = 4, eps0 = 1.0'), (40, 'name = "k-rr", k = 4, eps0 = 1.0'),
        target="delta = 1e-4"),
    "shuffler": one('name = "k-rr"\nk = 4\neps0 = 1.5', head="changed = 2",
                    users="users = 90\nminimum_batch = 40\ncolluding = 0.1",
                    target="epsilon = 0.9",
                    more="[shuffler]\ndistance = 1e-6\nshards = 2\ndummies = 5\nfills = true"),
}  # fmt: skip


def issued_of(text, *, run=False):
    """Its file and its certificate as a dictionary; of a run of fewer users than declared."""
    path = Path(tempfile.mkdtemp()) / "deployment.toml"
    path.write_text(text)
    source, release = load(path, sums=True, widened=True, groups=True), None
    if run:
        source = replace(source, deployment=seen(source.deployment, 55))
        release = Release(
            table="e.csv", sha256="0" * 64, users=55, declared_users=70, nulls=3, outside=0
        )
    return path, to_dict(issue(source, account(source.deployment), release=release))


@functools.cache
def _issued(kind):
    return issued_of(KINDS[kind], run=kind == RUN)


def issued(kind):
    """One of the kinds: its file, and a certificate that may be changed."""
    path, content = _issued(kind)
    return path, copy.deepcopy(content)
