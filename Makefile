# make run      sets agrad up in .venv and shows a first answer
# make test     runs the tests (PYTHON=python3.13: with that Python, in an environment of its own)
# make check    everything that CI runs: lint, format, strict types, tests
# make format   puts the sources into the format that `make check` asks for
# make table    rebuilds the parser's table after a change of grammar/agrad.lark
# make docs     rebuilds docs/functions.md after a change of the table of functions
# make clean    removes all that was made here

PYTHON ?= python3
VENV := $(if $(filter python3,$(PYTHON)),.venv,build/venv-$(patsubst python%,%,$(notdir $(PYTHON))))
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test check format types table docs clean

run: $(VENV)/.agrad
	@echo '$$ agrad eval "a**2*2" a=3 --wrt a'
	@$(BIN)/agrad eval "a**2*2" a=3 --wrt a
	@echo
	@echo 'It works. Next, try:'
	@echo '  $(BIN)/agrad repl                                      a session'
	@echo '  $(BIN)/agrad eval "sin(x)*y" x=2 y=3 --wrt x,y --json  a formula and its gradient'
	@echo '  $(BIN)/agrad run examples/toy.ag                       a script'
	@echo '  $(BIN)/agrad --help                                    the rest'

test: $(VENV)/.test
	$(BIN)/python -m pytest -q

check: $(VENV)/.dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The packages under the names that they are installed by, for mypy, which does not see through an editable install.
types:
	@mkdir -p build/types/agrad
	@ln -sfn ../../../cli ../../../grammar ../../../engine build/types/agrad

table: $(VENV)/.agrad
	$(BIN)/python -m agrad.grammar.build

docs: $(VENV)/.agrad
	@mkdir -p docs
	$(BIN)/agrad functions --markdown > docs/functions.md

clean:
	rm -rf .venv build dist agrad.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find cli grammar engine tests -name __pycache__ -prune -exec rm -rf {} +

# Each stamp stands for a step that is done, so that it is not done again.

$(VENV)/.made:
	@sh -c "$$CHECK_PYTHON"
	@echo "setting up $(VENV), once"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Editable: what is on disk is what runs, also after the next pull. It costs 4 ms a start beside an ordinary install,
# and compiling here saves those who have PYTHONDONTWRITEBYTECODE set from compiling at every start.
$(VENV)/.agrad: pyproject.toml | $(VENV)/.made
	@$(INSTALL) --editable .
	@$(BIN)/python -m compileall -q cli grammar engine
	@touch $@

$(VENV)/.test $(VENV)/.dev: $(VENV)/.%: $(VENV)/.agrad
	@$(INSTALL) --editable '.[$*]'
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
