# make run      sets up .venv and shows a first answer
# make test     runs all tests (PYTHON=python3.13: with that Python, in a separate environment)
# make check    runs lint, the format check, strict types, and all tests but the long ones; CI runs this, then make test
# make explore  runs the property tests, the fuzz claims and the comparisons with new random cases (CASES=200000: more)
# make format   fixes the format of the sources
# make table    rebuilds the parser's table, grammar/agrad.pickle, after a change of grammar/agrad.lark
# make bench    compares agrad's speed with that of its peers (ONLY=determinant: one benchmark)
# make docs     rebuilds the generated pages and pictures
# make clean    removes all generated files but the committed ones

PYTHON ?= python3
VENV := $(if $(filter python3,$(PYTHON)),.venv,build/venv-$(patsubst python%,%,$(notdir $(PYTHON))))
BIN := $(VENV)/bin
CASES ?= 2000
PARALLEL := --numprocesses auto --dist worksteal
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test check explore format types table bench docs clean

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

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -m 'not signals' $(PARALLEL)
	$(BIN)/python -m pytest -q -m signals

check: $(VENV)/.dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m 'not signals and not long' $(PARALLEL)
	$(BIN)/python -m pytest -q -m 'signals and not long'

explore: $(VENV)/.test
	$(BIN)/python -m pytest -q --hypothesis-profile=explore tests/grammar/syntax/test_precedence.py tests/grammar/runtime/test_properties.py tests/fuzz
	$(BIN)/python tests/fuzz/compare.py --cases $(CASES)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# mypy does not follow an editable install: it finds the packages through these links, under their installed names.
types:
	@mkdir -p build/types/agrad
	@ln -sfn ../../../cli/package/__init__.py ../../../cli/package/__main__.py build/types/agrad
	@ln -sfn ../../../cli ../../../grammar ../../../engine build/types/agrad

table: $(VENV)/.agrad
	$(BIN)/python -m agrad.grammar.syntax.loader

# An ordinary install, not an editable one, is measured, since that is what users have.
bench: build/bench-venv/.peers
	@rm -rf build/lib build/bdist*
	@build/bench-venv/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps .
	build/bench-venv/bin/python bench/run.py $(ONLY)

docs: $(VENV)/.test  # with pyte, the terminal that the pictures are taken from
	$(BIN)/python docs/make_pages.py
	$(BIN)/agrad --no-init man --markdown > docs/cli.md
	$(BIN)/agrad --no-init man > docs/agrad.1
	$(BIN)/python docs/make_pictures.py

clean:
	rm -rf .venv build dist agrad.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find cli grammar engine tests -name __pycache__ -prune -exec rm -rf {} +

# A stamp file marks a set-up step as done.

$(VENV)/.made:
	@sh -c "$$CHECK_PYTHON"
	@echo "setting up $(VENV), once"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Editable, so that changes on disk take effect at once; this costs 4 ms per start. Compiling here saves users who set
# PYTHONDONTWRITEBYTECODE from compiling at every start.
$(VENV)/.agrad: pyproject.toml | $(VENV)/.made
	@$(INSTALL) --editable .
	@$(BIN)/python -m compileall -q cli grammar engine
	@touch $@

$(VENV)/.test $(VENV)/.dev: $(VENV)/.%: $(VENV)/.agrad
	@$(INSTALL) --editable '.[$*]'
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
