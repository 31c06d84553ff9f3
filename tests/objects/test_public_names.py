"""What ``import shuffledp`` gives, and what it imports to give it."""

import pkgutil
import subprocess
import sys

import shuffledp as sd


def test_no_public_name_is_that_of_a_module_inside():
    """An import of the module would put it in the place of the function."""
    inside = {module.name for module in pkgutil.iter_modules(sd.__path__)}
    assert not inside & set(sd.__all__)


def _imported_by(program):
    """Top-level packages, and our own modules, that a fresh interpreter has imported."""
    ask = f"{program}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_the_import_waits_for_what_is_asked():
    assert not _imported_by("import shuffledp") & {"numpy", "scipy", "click"}


def test_a_command_imports_what_it_needs():
    """Not the review, the verifier, the audit or the page of other commands."""
    run = "import sys; sys.argv = ['shuffledp', 'epsilon', 'k-rr', '--help']\n"
    run += "from shuffledp.cli import main\n"
    run += "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    found = _imported_by(run)
    assert "shuffledp.randomizers.items" in found
    others = ("review", "audit", "page", "planner", "surveys", "certificate", "protocol")
    assert not found & {f"shuffledp.{name}" for name in others}
