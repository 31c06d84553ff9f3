"""Build the wheel, install it alone in a clean environment, and use it from another directory.

What this catches and the tests in the editable install do not: files missing from the sdist or
the wheel, an undeclared dependency, an extra imported by the core, a broken entry point.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "epsilon k-rr --k 10 --eps0 4 -n 10000 --delta 1e-6"

INSIDE = """
import importlib.metadata, importlib.util, pathlib, sys
import shuffledp
home = pathlib.Path(shuffledp.__file__).parent
wrong = []
if not home.is_relative_to(sys.prefix):
    wrong.append(f"imported from {home}, not from the clean environment")
if not (home / "py.typed").is_file():
    wrong.append("py.typed is not in the wheel")
if shuffledp.__version__ != importlib.metadata.version("shuffledp"):
    wrong.append(f"__version__ = {shuffledp.__version__}: not the version of the wheel")
if extras := [name for name in ("matplotlib", "pydantic") if name in sys.modules]:
    wrong.append(f"import shuffledp loads {extras}")
if missing := [name for name in shuffledp.__all__ if not hasattr(shuffledp, name)]:
    wrong.append(f"in __all__ but not there: {missing}")
sys.exit("\\n".join(wrong) or 0)
"""


def run(*command: str | Path, cwd: Path | str = ROOT) -> str:
    """Run a command and return what it printed; end this program with that if it fails."""
    words = [str(part) for part in command]
    done = subprocess.run(
        words, cwd=cwd, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed with status {done.returncode}: {' '.join(words)}")
    return done.stdout


def check_description(wheel: Path) -> None:
    """End this program unless README.md is in the wheel, without links that lead nowhere."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        _, _, text = archive.read(name).decode().partition("\n\n")
    if not text.startswith("# shuffledp"):
        sys.exit("README.md is not in the wheel: see tools/metadata.py")
    if left := re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", text):
        sys.exit(f"the wheel's README.md has links that lead nowhere: {left}")


def main() -> None:
    """Build, install, import, run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv-wheel")
    directory = parser.parse_args().venv.resolve()

    with tempfile.TemporaryDirectory() as scratch:
        # Without --wheel the wheel is built from the sdist, which checks that as well.
        run(sys.executable, "-m", "build", "--outdir", scratch, ROOT)
        (wheel,) = Path(scratch).glob("*.whl")
        check_description(wheel)
        venv.create(directory, clear=True, with_pip=False)
        python = directory / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python]
        # What is imported is compiled then: compiling all of SciPy takes longer than the rest.
        run(*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", wheel)
        run(*pip, "check", "--disable-pip-version-check")
        run(python, "-I", "-c", INSIDE, cwd=scratch)
        print(f"{wheel.name}$ shuffledp {COMMAND}")
        print(run(python.parent / "shuffledp", *COMMAND.split(), cwd=scratch).rstrip())


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main()
