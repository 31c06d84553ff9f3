"""Deployment files of crowds: `account` says what each group gets; nothing else takes them."""

import json

from click.testing import CliRunner

import shuffledp as sd
from shuffledp.cli import main
from shuffledp.deployment import account, load

TEXT = """title = "two versions"
[[group]]
users = 60
randomizer = { name = "binary-rr", eps0 = 1.0 }
[[group]]
users = 40
randomizer = { name = "duchi", eps0 = 3.0 }
[target]
delta = 1e-3
"""


def test_the_certificate_has_the_librarys_ends_and_is_verified(tmp_path):
    path, out = tmp_path / "crowd.toml", tmp_path / "out"
    path.write_text(TEXT)
    words = ["account", path, "--output", out, "--plot", out / "crowd.png"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert sorted(one.name for one in out.iterdir()) == ["crowd.certificate.json", "crowd.png"]
    groups = [(sd.BinaryRR(eps0=1.0), 60), (sd.Duchi(eps0=3.0), 40)]
    certificate = json.loads((out / "crowd.certificate.json").read_text())
    claims = [c for c in certificate["claims"] if (c["group"], c["situation"]) == (1, "now")]
    upper, lower = (claim["value"] for claim in claims[:2])
    one = sd.shuffle(groups=groups, victim=1).epsilon(delta=1e-3)
    assert one.upper <= upper <= one.upper * (1.0 + 1e-5)
    assert one.lower * (1.0 - 1e-5) <= lower <= one.lower


def test_what_is_asked_may_be_delta(tmp_path):
    path = tmp_path / "crowd.toml"
    path.write_text(TEXT.replace("delta = 1e-3", "epsilon = 0.5"))
    found = account(load(path, groups=True).deployment)
    hidden = [one.bound for one in found.answers if not one.setting.failed]
    assert len(hidden) == 2
    assert all(0.0 < bound.lower <= bound.upper < 1.0 for bound in hidden)
