"""What the verifying page is made of beside this package: pinned files, checked by their hashes.

They come from a folder, or are fetched into it by npm and pip as these are set up on the machine.
A file whose sha256 is another one is refused, wherever it is from.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shuffledp.errors import ParameterError, unreadable

__all__ = ["INTERPRETER", "PARTS", "WHEELS", "Part", "gathered"]

# Seconds for one file: some megabytes.
_PATIENCE = 300
# Of the wheels: what the interpreter is.
_PYTHON, _ABI, _PLATFORM = "314", "cp314", "pyemscripten_2026_0_wasm32"


@dataclass(frozen=True)
class Part:
    """A file of a package.

    Attributes
    ----------
    name, version : str
        Of the package.
    file : str
        What it is called.
    sha256 : str
        Of its bytes, in hexadecimal.
    imports : tuple of str
        Modules it brings.
    depends : tuple of str
        Packages it needs, of those here.
    """

    name: str
    version: str
    file: str
    sha256: str
    imports: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()


INTERPRETER = Part(
    "pyodide",
    "314.0.7",
    "pyodide-314.0.7.tgz",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
)
WHEELS = (
    Part(
        "annotated-types",
        "0.8.0",
        "annotated_types-0.8.0-py3-none-any.whl",
        "f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0",
        ("annotated_types",),
    ),
    Part(
        "pydantic",
        "2.14.3",
        "pydantic-2.14.3-py3-none-any.whl",
        "3f7b347782ab7e4cf4c798496ae3a82787d9f21ec12676a9c564355eeef8daa8",
        ("pydantic",),
        ("annotated-types", "pydantic-core", "typing-extensions", "typing-inspection"),
    ),
    Part(
        "pydantic-core",
        "2.50.4",
        f"pydantic_core-2.50.4-{_ABI}-{_ABI}-{_PLATFORM}.whl",
        "e6da138a1ecc1341c8b788a5ee822670b03788e1f5decf7af9d461de6e508b8e",
        ("pydantic_core",),
        ("typing-extensions",),
    ),
    Part(
        "python-flint",
        "0.9.0",
        f"python_flint-0.9.0-{_ABI}-{_ABI}-{_PLATFORM}.whl",
        "b31f5c00e0e36040ab58d00b3025156e20869b990d776e4bf90f870b1ee11ad3",
        ("flint",),
    ),
    Part(
        "typing-extensions",
        "4.16.0",
        "typing_extensions-4.16.0-py3-none-any.whl",
        "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8",
        ("typing_extensions",),
    ),
    Part(
        "typing-inspection",
        "0.4.5",
        "typing_inspection-0.4.5-py3-none-any.whl",
        "bc210535442b39e1bf2805e0c7a17dfd6a4ace760c84c7f7d16245d23a6b1c39",
        ("typing_inspection",),
        ("typing-extensions",),
    ),
)
PARTS = (INTERPRETER, *WHEELS)
# Megabytes of the written folder, as the help and the guide say: 22,882,785 bytes with these parts.
FOLDER_MEGABYTES = 23


def gathered(folder: Path, *, fetch: bool, report: Callable[[str], None]) -> dict[str, bytes]:
    """The bytes of all parts, by file name.

    Parameters
    ----------
    folder : path
        Where they are, or are put.
    fetch : bool
        Whether those that are not there are fetched by npm and pip.
    report : callable
        Told what is being fetched.

    Raises
    ------
    ParameterError
        A part is not there or cannot be fetched, or is another file.
    """
    found = {}
    for part in PARTS:
        path = folder / part.file
        if fetch and not path.is_file():
            report(f"fetching {part.name} {part.version}")
            _fetch(part, folder)
        try:
            content = path.read_bytes()
        except OSError as error:
            words = f"{unreadable(error)}; wanted {part.name} {part.version}"
            raise ParameterError(f"parts: {str(path)!r}: {words}") from None
        digest = hashlib.sha256(content).hexdigest()
        if digest != part.sha256:
            words = f"sha256 {digest}, wanted {part.sha256}"
            raise ParameterError(f"parts: {str(path)!r}: {words}")
        found[part.file] = content
    return found


def _fetch(part: Part, folder: Path) -> None:
    """By the package's own client, one file, nothing that it depends on, and no script of it."""
    if part is INTERPRETER:
        program = shutil.which("npm")
        if program is None:
            raise ParameterError(
                f"npm is not installed: wanted it, or --parts DIRECTORY with {part.file}, "
                f"as npm pack {part.name}@{part.version} makes it"
            )
        words = [program, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
        words.append(f"{part.name}@{part.version}")
    else:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        words += ["--no-deps", "--only-binary=:all:", "--platform", _PLATFORM, "--implementation"]
        words += ["cp", "--python-version", _PYTHON, "--abi", _ABI, "--dest", str(folder)]
        words.append(f"{part.name}=={part.version}")
    try:
        done = subprocess.run(  # noqa: S603 (a fixed program, fixed words, and a folder)
            words, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ParameterError(f"{part.name} {part.version}: {_line(str(error))}") from None
    if done.returncode:
        said = _line(done.stderr) or f"exit status {done.returncode}"
        raise ParameterError(f"{part.name} {part.version}: cannot be fetched: {said}")


def _line(text: str) -> str:
    """The end of what a program said, where it says what went wrong."""
    words = " ".join(text.split())
    return words if len(words) <= 200 else "..." + words[-200:]
