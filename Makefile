# make run      sets up .venv and shows a first answer
# make test     runs all tests but the long ones, in build/venv-test, which has all extras (PYTHON=python3.13: with that Python)
# make long     runs the long tests: random programs, millions of nodes, killed clusters, whole lessons
# make check    runs lint, the format check, strict types, and make test
# make beside   runs the tests that compare with PyTorch, pint and uncertainties, in build/venv-beside, if PyTorch can be installed here
# make bounds   runs make test with the lowest versions of the dependencies that pyproject.toml allows
# make explore  runs the property tests, the fuzz claims and the comparisons with new random cases (CASES=200000: more)
# make mutants  counts the small faults that make test notices (CHOSEN=: that all tests do); it writes into the sources
# make format   fixes the format of the sources
# make table    rebuilds the parser's table, grammar/agrad.pickle, and which file has which operation, engine/ops/index.txt
# make bench    compares agrad's speed with that of its peers (ONLY=determinant: one benchmark)
# make dist     builds the distributions in dist/, checks them, and installs the wheel into an empty environment
# make installs does so with each extra, too, and with pipx (slow)
# make site     builds the site of the documents in build/site, and tests it
# make docs     rebuilds the generated pages and pictures
# make clean    removes all generated files but the committed ones

PYTHON ?= python3
SUFFIX := $(if $(filter python3,$(PYTHON)),,-$(patsubst python%,%,$(notdir $(PYTHON))))
# Two environments: what a user has, and all that the tests need, since the extras change what agrad can do.
VENV := $(if $(SUFFIX),build/venv$(SUFFIX),.venv)
BIN := $(VENV)/bin
TESTS := build/venv-test$(SUFFIX)
CASES ?= 2000
CHOSEN ?= -m 'not long'
PARALLEL := --numprocesses auto --dist worksteal
PYTEST = $(TESTS)/bin/python -m pytest -q --durations=10 $(PARALLEL)
BESIDE := build/venv-beside$(SUFFIX)
TORCH = $(shell grep -rlE '(importorskip|find_spec).("torch|"mpmath|"pint|"uncertainties|USUAL)' tests --include='test_*.py')
PROPERTIES = $(shell grep -rl '@given' tests --include='test_*.py') tests/fuzz
DIST := build/venv-dist$(SUFFIX)
INSTALL := bin/python -m pip install --quiet --disable-pip-version-check

# Where it is set, each of the many processes that the tests start would compile what it imports.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run test long check beside bounds explore mutants format types table bench dist installs site docs clean

run: $(VENV)/.agrad
	@echo '$$ agrad eval "a**2*2" a=3 --wrt a'
	@$(BIN)/agrad eval "a**2*2" a=3 --wrt a
	@echo
	@echo 'It works. Next, try:'
	@echo '  $(BIN)/agrad repl                                      a session'
	@echo '  $(BIN)/agrad eval "sin(x)*y" x=2 y=3 --wrt x,y --json  a formula and its gradient'
	@echo '  $(BIN)/agrad run examples/toy.ag                       a script'
	@echo '  $(BIN)/agrad --help                                    the rest'
	@echo
	@echo 'To type agrad alone:'
	@echo '  . $(BIN)/activate                                      in this shell'
	@echo '  pipx install .                                            in every shell'

test: $(TESTS)/.test
	$(PYTEST) -m 'not long'

# Here each process of agrad is started, not forked from one that has loaded the program.
long: $(TESTS)/.test
	AGRAD_TESTS=start $(PYTEST) -m long

# mypy runs beside the tests, which wait for processes at times.
check: $(TESTS)/.dev types
	$(TESTS)/bin/ruff check .
	$(TESTS)/bin/ruff format --check .
	@$(TESTS)/bin/mypy > build/mypy.txt & types=$$!; \
	$(PYTEST) -m 'not long'; tests=$$?; \
	wait $$types; types=$$?; cat build/mypy.txt; exit $$((types | tests))

# Wheels only, and none with CUDA: where there is no such wheel for this Python, it says so, and is content.
beside: $(BESIDE)/.made
	@if $(BESIDE)/bin/python tests/support/torch_wheel.py; then \
	    $(BESIDE)/$(INSTALL) --prefer-binary --editable '.[beside]' && \
	    $(BESIDE)/bin/python -m pytest -q $(PARALLEL) $(TORCH); \
	fi

bounds:
	@mkdir -p build
	@$(PYTHON) tests/support/lowest.py > build/lowest.txt
	@$(MAKE) --no-print-directory test TESTS=build/venv-bounds$(SUFFIX) BOUNDS='--constraint build/lowest.txt'

explore: $(TESTS)/.test
	$(TESTS)/bin/python -m pytest -q --hypothesis-profile=explore $(PROPERTIES)
	AGRAD_SEEDS=$(CASES) $(TESTS)/bin/python -m pytest -q $(PARALLEL) tests/engine/compile/test_random_programs.py
	$(TESTS)/bin/python tests/fuzz/compare.py --cases $(CASES)

mutants: $(TESTS)/.test
	$(TESTS)/bin/python tests/support/mutant_trial.py $(CHOSEN)

format: $(TESTS)/.dev
	$(TESTS)/bin/ruff check --fix .
	$(TESTS)/bin/ruff format .

# mypy does not follow an editable install: it finds the packages through these links, under their installed names.
types:
	@mkdir -p build/types/agrad
	@ln -sfn $(addprefix ../../../cli/package/,__init__.py __init__.pyi __main__.py lazy.py) build/types/agrad
	@ln -sfn ../../../cli ../../../grammar ../../../engine build/types/agrad
	@ln -sfn ../../../engine/torch ../../../engine/numpy build/types/agrad

table: $(VENV)/.agrad
	$(BIN)/python tests/support/grammar_table.py
	$(BIN)/python tests/support/operations_index.py

# An ordinary install, not an editable one, is measured, since that is what users have.
bench: build/bench-venv/.peers
	@rm -rf build/lib build/bdist*
	@build/bench-venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .
	build/bench-venv/bin/python bench/run.py $(ONLY)

# The wheel is built from the source distribution, as by those who package agrad. Both are the same bytes each time: their
# files have the date of the last commit, or the one that is given.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2> /dev/null || echo 1767225600)
dist: $(DIST)/.tools
	@rm -rf dist build/sdist
	@mkdir -p build/sdist
	@{ $(DIST)/bin/python -m build --sdist --outdir dist . && \
	    $(DIST)/bin/python tests/support/reproducible.py dist/*.tar.gz && \
	    tar -xzf dist/*.tar.gz -C build/sdist --strip-components=1 && \
	    $(DIST)/bin/python -m build --wheel --outdir "$$PWD/dist" build/sdist; } > build/dist.txt 2>&1 || { cat build/dist.txt; exit 1; }
	$(DIST)/bin/twine check --strict dist/*
	$(DIST)/bin/check-wheel-contents dist/*.whl
	$(DIST)/bin/python tests/support/installed.py dist/*.whl $(INSTALLS)

installs:
	@$(MAKE) --no-print-directory dist INSTALLS=--each

site: $(TESTS)/.site
	NO_MKDOCS_2_WARNING=1 $(TESTS)/bin/python -m mkdocs build --strict --quiet
	$(TESTS)/bin/python -m pytest -q tests/test_site.py

docs: $(TESTS)/.test
	$(TESTS)/bin/python docs/make_pages.py
	$(TESTS)/bin/agrad completion bash > docs/completions/agrad
	$(TESTS)/bin/agrad completion zsh > docs/completions/_agrad
	$(TESTS)/bin/agrad completion fish > docs/completions/agrad.fish
	$(TESTS)/bin/agrad --color always run --theme light --svg docs/session-light.svg docs/session.ag
	$(TESTS)/bin/agrad --color always run --theme dark --svg docs/session-dark.svg docs/session.ag

clean:
	rm -rf .venv build dist agrad.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find cli grammar engine tests -name __pycache__ -prune -exec rm -rf {} +

# A stamp file marks a set-up step as done.

$(VENV)/.made $(TESTS)/.made $(BESIDE)/.made $(DIST)/.made:
	@sh -c "$$CHECK_PYTHON"
	@echo "setting up $(@D), once"
	@$(PYTHON) -m venv $(@D)
	@touch $@

# Editable, so that changes on disk take effect at once; this costs 4 ms per start. Compiling here saves users who set
# PYTHONDONTWRITEBYTECODE from compiling at every start.
$(VENV)/.agrad: pyproject.toml | $(VENV)/.made
	@$(VENV)/$(INSTALL) --editable .
	@$(BIN)/python -m compileall -q cli grammar engine
	@touch $@

# Not compiled here, which takes as long as the rest: of the many modules of all extras, the tests import a third.
$(TESTS)/.test $(TESTS)/.dev $(TESTS)/.site: $(TESTS)/.%: pyproject.toml | $(TESTS)/.made
	@$(TESTS)/$(INSTALL) --no-compile $(BOUNDS) --editable '.[$*]'
	@touch $@

$(DIST)/.tools: pyproject.toml | $(DIST)/.made
	@$(DIST)/$(INSTALL) --editable '.[dist]'
	@touch $@

build/bench-venv/.peers: bench/requirements.txt pyproject.toml
	@echo "setting up build/bench-venv, once: some 2 GB"
	@$(PYTHON) -m venv build/bench-venv
	@build/bench-venv/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt '.[jit,data]'
	@touch $@

define CHECK_PYTHON
needs() { echo "agrad needs $$1"; echo "  fix: $$2"; exit 1; } >&2
another="or name another Python: make run PYTHON=python3.12"
$(PYTHON) -c '' 2>/dev/null || needs "Python 3.11 or newer; $(PYTHON) does not run here" "install Python, $$another"
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    needs "Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1)" "install a newer one, $$another"
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null ||
    needs "Python's venv, which $(PYTHON) comes without" "install it (Debian: apt install python3-venv), $$another"
endef
export CHECK_PYTHON
