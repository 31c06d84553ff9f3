# Every target sets up what it needs in .venv: Python 3.10+, pip and make are enough.
#   make demo        account for the example deployments, verify the certificates
#   make test        lint, types, import layers, the wheel in a clean environment, the tests; where there is a browser, the page in it
#   make test-long   the tests that take minutes, with more Hypothesis examples
#   make test-spark  the Spark engine on a local Spark (needs Java)
#   make test-page   the pages in a real browser (needs Chromium and its driver, npm; pictures in out/page)
#   make docs        the documentation as a site, in out/site/html, links checked
#   make bench       measure;   make figures   draw what was measured
#   make clean       remove all of the above
# PYTHON=python3.12 chooses the interpreter, PYTEST_ARGS="-k contour" is handed to pytest.

PYTHON ?= python3
PYTEST_ARGS ?=
JOBS ?= 2

# Words of the command line, in one place. OUT is where certificates and plots are written.
OUT := out
EXAMPLES := $(sort $(wildcard examples/*.toml))

VENV := .venv
CLEAN_VENV := .venv-wheel
PY := $(VENV)/bin/python
# A copied tree or another interpreter gets a new environment: the key is in the stamps' names.
KEY := $(shell $(PYTHON) -I -c 'import os, sys, zlib; print(zlib.crc32((os.getcwd() + sys.version + sys.base_prefix).encode()))' 2>/dev/null)
HAS_VENV := $(VENV)/.venv-$(KEY)
HAS_ALL := $(VENV)/.all-$(KEY)
HAS_DEV := $(VENV)/.dev-$(KEY)
HAS_DOCS := $(VENV)/.docs-$(KEY)
HAS_PAGE := $(VENV)/.page-$(KEY)
WHEEL_OK := $(VENV)/.wheel-$(KEY)
SOURCES := $(shell find src -type f -not -path '*/__pycache__/*' -not -name '.*') pyproject.toml LICENSE $(wildcard README.md)

# Nothing of the caller's Python gets in: an active environment, paths, flags, pip's targets.
unexport VIRTUAL_ENV CONDA_PREFIX
unexport PYTHONPATH PYTHONHOME PYTHONWARNINGS PYTHONOPTIMIZE PYTHONSAFEPATH PYTHONSTARTUP
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV
unexport PYTEST_ADDOPTS
# Tests start hundreds of interpreters: none of them is to compile the sources again.
unexport PYTHONDONTWRITEBYTECODE
# A worker a core, one thread each; no display.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg
# pyright stays the version that was installed, and does not look for a newer one.
unexport PYRIGHT_PYTHON_FORCE_VERSION PYRIGHT_PYTHON_PYLANCE_VERSION
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# Modules are compiled when they are imported first: most of a thousand megabytes never are.
PIP_INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check --no-compile
# Each worker begins with tests that stand together: what modules make once is made once.
PYTEST = $(PY) -m pytest -n $(JOBS) --dist worksteal -q

.PHONY: demo test lint types imports wheel browser unit test-long test-spark test-page bench docs figures format clean
# But for the checks before the tests, which know nothing of each other.
ifndef AT_ONCE
.NOTPARALLEL:
endif
.DEFAULT_GOAL := test

# ------------------------------------------------------------------------------ environments

# Some systems ship Python without ensurepip: then their own pip fills the environment.
$(HAS_VENV):
	@$(PYTHON) -I -c 'import sys; sys.exit(sys.version_info < (3, 10) and "shuffledp needs Python 3.10 or newer, $(PYTHON) is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@echo "==> $(VENV): a new environment"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) \
	       && $(PYTHON) -m pip --python $(PY) install --quiet pip; }
	@$(PIP_INSTALL) --upgrade 'pip>=23'
	@touch $@

$(HAS_ALL): $(HAS_VENV) pyproject.toml
	@echo "==> $(VENV): shuffledp with its extras"
	@$(PIP_INSTALL) --editable '.[all]'
	@touch $@

# pyright runs on node; where there is none the package registry has it as a wheel.
$(HAS_DEV): $(HAS_VENV) pyproject.toml
	@echo "==> $(VENV): shuffledp with its extras and the tools"
	@$(PIP_INSTALL) --editable '.[dev]'
	@command -v node >/dev/null 2>&1 || $(PIP_INSTALL) 'pyright[nodejs]'
	@touch $(HAS_ALL) $@

$(HAS_DOCS): $(HAS_VENV) pyproject.toml
	@echo "==> $(VENV): shuffledp with what the site needs"
	@$(PIP_INSTALL) --editable '.[docs]'
	@touch $@

# -------------------------------------------------------------------------------------- demo

demo: $(HAS_ALL)
	@test -n "$(EXAMPLES)" || { echo "no examples/*.toml"; exit 1; }
	@mkdir -p $(OUT)
	@set -e; for file in $(EXAMPLES); do \
	  name=$$(basename "$$file" .toml); \
	  echo "==> shuffledp account $$file   (all of it: $(OUT)/$$name.txt, $(OUT)/$$name.html)"; \
	  $(VENV)/bin/shuffledp account "$$file" --output $(OUT) --report $(OUT)/$$name.html > $(OUT)/$$name.txt; \
	  sed '/^theorems/,$$d' $(OUT)/$$name.txt; \
	done
	@echo "==> shuffledp verify $(OUT)/*.certificate.json"
	@$(VENV)/bin/shuffledp verify $(OUT)/*.certificate.json
	@echo "==> To use the command shuffledp in this shell: . $(VENV)/bin/activate"

# ------------------------------------------------------------------------------------- tests

# pytest comes last, so that its closing line is the last thing on the screen.
test: $(HAS_DEV)
	@$(MAKE) --no-print-directory -j $(JOBS) AT_ONCE=yes types wheel lint imports
	@$(MAKE) --no-print-directory browser unit

lint: $(HAS_DEV)
	@echo "==> ruff"
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: $(HAS_DEV)
	@echo "==> pyright"
	@$(PY) -m pyright --pythonpath $(PY)

imports: $(HAS_DEV)
	@echo "==> import-linter"
	@$(VENV)/bin/lint-imports --no-cache

wheel: $(WHEEL_OK)

# The wheel alone, without extras, must do what the README promises.
$(WHEEL_OK): $(SOURCES) tools/check_wheel.py tools/metadata.py tools/long_description.py $(HAS_DEV)
	@echo "==> the wheel in a clean environment"
	@$(PY) tools/check_wheel.py --venv $(CLEAN_VENV)
	@touch $@

# The quick part of test-page, where there is a browser.
browser: $(HAS_DEV)
	@if test -x /usr/bin/chromium -a -x /usr/bin/chromedriver; then \
	  echo "==> the page in a browser"; \
	  test -e $(HAS_PAGE) || { $(PIP_INSTALL) --editable '.[page]' && touch $(HAS_PAGE); } || exit 1; \
	  $(PY) -m pytest -q -m 'page and core' tests/page; \
	else echo "==> no Chromium with its driver in /usr/bin: the page is not tried in a browser"; fi

unit: $(HAS_DEV)
	@echo "==> pytest"
	@$(PYTEST) --doctest-modules src tests $(PYTEST_ARGS)

test-long: $(HAS_DEV)
	@HYPOTHESIS_PROFILE=long $(PYTEST) -m long -o faulthandler_timeout=7200 tests $(PYTEST_ARGS)

# Needs Java. PySpark is large, so it has an environment of its own.
test-spark:
	@$(PYTHON) -m venv .venv-spark
	@.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[all,spark]' 'pytest>=8.2' 'hypothesis>=6.100'
	@.venv-spark/bin/python -m pytest -q -m spark -W ignore tests/protocol $(PYTEST_ARGS)

# Chromium and its driver are the system's own (Debian: chromium, chromium-driver); selenium looks for no other.
test-page: $(HAS_DEV)
	@test -x /usr/bin/chromium -a -x /usr/bin/chromedriver \
	  || { echo "test-page needs /usr/bin/chromium and /usr/bin/chromedriver"; exit 1; }
	@$(PIP_INSTALL) --editable '.[page]' && touch $(HAS_PAGE)
	@$(PY) -m pytest -q -m page tests/page $(PYTEST_ARGS)

# -------------------------------------------------------------------------------------- docs

# Every warning of Sphinx is an error.
docs: $(HAS_DOCS)
	@$(PY) -m tools.build_docs --out $(OUT)/site

# ------------------------------------------------------------------------- benchmarks, upkeep

bench: $(HAS_DEV)
	@$(PY) -m bench

figures: $(HAS_DEV)
	@$(PY) -m bench figures
	@$(PY) -m papers.printed.table

format: $(HAS_DEV)
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

clean:
	rm -rf $(VENV) $(CLEAN_VENV) .venv-spark .parts $(OUT) build dist mutants .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
