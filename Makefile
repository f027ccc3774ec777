# Needs a POSIX system, Python 3.11 or newer (with pip) and make; everything else is installed into .tools and .venv.
#
#   make demo       start a sandbox, load its payments, write a report into out/; needs no configuration
#   make install    install everything into .venv
#   make test       lint, types, import contracts and tests
#   make help       list the other targets

PYTHON ?= python3
OUT ?= out
DEMO_ARGS ?=
LAB_ARGS ?=
BENCH ?=
PATHS ?=
MUTATE ?=
UV_VERSION := 0.13.8

RUN := .venv/bin
RUFF := --extend-exclude .tools
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
SANITIZE := $(wildcard tests/notebooks/sanitize.cfg)
# pyproject.toml switches this plugin off, because loading it takes each process of pytest seconds.
NBVAL := -p nbval --nbval --nbval-current-env --nbval-cell-timeout 120 $(if $(SANITIZE),--nbval-sanitize-with $(SANITIZE))

# The tests of `make test`, and the others, of `make test-all`: tests/conftest.py has the markers.
FAST := not (full or all_frames or full_fuzz or soak)
REST := (full or all_frames or full_fuzz) and not soak
# Test files run in parallel, up to four at once; in collection order, where the slow ones are not last.
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Folders with a conftest.py are listed too: else only the worker processes load it, and its summary is not printed.
TELLING := $(sort $(patsubst %/conftest.py,%,$(wildcard tests/*/conftest.py)))

# Bytecode is cached: without it every process compiles pandas again, which takes seconds.
unexport PYTHONDONTWRITEBYTECODE
# Only .venv is used: an activated environment or a PYTHONPATH must not leak into it.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV CONDA_PREFIX
export UV_COMPILE_BYTECODE := 1
export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON_PREFERENCE := only-system
export UV_NO_PROGRESS := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo sandbox lab install test test-all quick lint types contracts tests notebooks docs pictures bench soak mutate \
	format clean

help:
	@echo "make demo        run the sandbox, load its payments, write $(OUT)/report.html, CSV files and plots"
	@echo "make test        lint, types, import contracts and tests: some minutes"
	@echo "make test-all    the other tests: browser, Spark, other programs, notebooks, all kinds of frames, full fuzz"
	@echo "make quick       lint, types and the tests of changed files, or of PATHS=\"p2p_analytics/money.py\": seconds"
	@echo "make install     put everything into .venv: notebooks, keyring, the tools of make test"
	@echo "make sandbox     serve the sandbox until Ctrl-C"
	@echo "make lab         open JupyterLab on the notebooks (LAB_ARGS=\"--no-browser --port 8899\" for its options)"
	@echo "make notebooks   run the notebooks and keep their outputs"
	@echo "make docs        build the documentation as a web site: build/docs/index.html"
	@echo "make pictures    draw the pictures of the documentation"
	@echo "make lint | types | contracts | tests    one part of make test"
	@echo "make bench | soak                        measurements (BENCH=\"frames paging\" for parts); long load and fault runs"
	@echo "make mutate      change the code at random places, and show the changes that no test notices (MUTATE=\"--count 9 frames\")"
	@echo "make format | clean                      format the code; remove build results"

demo: .venv/.package
	@$(RUN)/python -m p2p_analytics demo --out $(OUT) $(DEMO_ARGS)

sandbox: .venv/.package
	@$(RUN)/python -m p2p_analytics sandbox

install: .venv/.all

# Mypy, which uses one core, checks the types meanwhile. Pytest compiles each test file once, here: without this, each of
# its processes would compile all of them.
test: .venv/.all
	@$(MAKE) --no-print-directory types & types=$$!; \
	$(MAKE) --no-print-directory lint contracts && { find tests -name "*-pytest-*.pyc" | grep -q . || \
	$(RUN)/python -m pytest -p no:cacheprovider --collect-only -qq -m "$(FAST)" tests >/dev/null 2>&1; \
	$(MAKE) --no-print-directory tests; }; others=$$?; wait $$types && test $$others = 0

lint: .venv/.all
	$(RUN)/ruff check $(RUFF)
	$(RUN)/ruff format --check $(RUFF)

types: .venv/.all
	$(RUN)/mypy

contracts: .venv/.all
	$(RUN)/lint-imports --no-logo

# Tests run side by side: one thread each is several times as fast as threads of all for the same processors.
tests test-all quick: export POLARS_MAX_THREADS := 1
tests: .venv/.all
	$(RUN)/python -m pytest -m "$(FAST)" $(SIDE_BY_SIDE) tests $(TELLING)

test-all: .venv/.all .venv/.clean .venv/.peers .venv/.peers-node .venv/.spark
	$(RUN)/python -m pytest -m "$(REST)" $(SIDE_BY_SIDE) tests $(TELLING)
	$(if $(NOTEBOOKS),$(RUN)/python -m pytest $(SIDE_BY_SIDE) $(NOTEBOOKS) $(NBVAL))

quick: .venv/.all
	@$(RUN)/python tests/quick.py "$(FAST)" $(PATHS)

lab: .venv/.all
	$(RUN)/python -m jupyterlab notebooks $(LAB_ARGS)

notebooks: .venv/.all
	$(RUN)/python notebooks/regenerate.py

# Broken links fail the build. The README is the start page of the site.
docs: .venv/.all
	$(RUN)/python docs/write_map.py
	$(RUN)/python docs/write_performance.py
	$(RUN)/python -m sphinx -W --keep-going -q -c docs -d build/doctrees . build/docs
	@cp build/docs/README.html build/docs/index.html

pictures: .venv/.all
	$(RUN)/python docs/make_pictures.py

bench: .venv/.all .venv/.peers-bench .venv/.profiling .venv/.spark
	$(RUN)/python tests/benchmarks/bench.py $(BENCH)

soak: .venv/.all .venv/.lowest
	$(RUN)/python -m pytest -m soak -s tests

mutate: .venv/.all
	$(RUN)/python tests/mutation/mutate.py $(MUTATE)

format: .venv/.all
	$(RUN)/ruff format $(RUFF)

clean:
	rm -rf $(OUT) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find p2p_analytics tests notebooks -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "The environment stays: remove .venv and .tools by hand to start from scratch."

# Both share one environment: `.all` includes everything in `.package`, so neither breaks the other.
.venv/.package: .venv/.made pyproject.toml constraints.txt | .venv/bin/pip
	@$(call install,.)
	@touch $@

.venv/.all: .venv/.made pyproject.toml constraints.txt | .venv/bin/pip
	@$(call install,.[all])
	@touch .venv/.package $@

# tests/package installs the built package here: nothing but its dependencies. Its modules are compiled where they are used.
.venv/.clean: .venv/.made pyproject.toml constraints.txt
	@rm -rf .venv/clean; uv=$$(command -v uv || echo .tools/bin/uv); \
	if { test -x "$$uv" && "$$uv" venv --quiet --python $(RUN)/python .venv/clean && UV_COMPILE_BYTECODE=0 "$$uv" pip \
	install --quiet --python .venv/clean/bin/python -c constraints.txt -r pyproject.toml; } || \
	{ $(PYTHON) -m venv --clear .venv/clean && .venv/clean/bin/python -m pip install --quiet -c constraints.txt .; }; \
	then touch $@; else rm -rf .venv/clean; \
	echo "The dependencies cannot be installed once more here: tests of the built package are skipped." >&2; fi

# The lowest versions that pyproject.toml allows, for tests/package. Only uv can select them.
.venv/.lowest: .venv/.made pyproject.toml
	@rm -rf .venv/lowest; uv=$$(command -v uv || echo .tools/bin/uv); \
	if test -x "$$uv" && "$$uv" venv --quiet --python $(RUN)/python .venv/lowest && \
	"$$uv" pip install --quiet --python .venv/lowest/bin/python --resolution lowest-direct -e ".[engines,keyring,notebook]" && \
	"$$uv" pip install --quiet --python .venv/lowest/bin/python -e ".[all]"; \
	then touch $@; else rm -rf .venv/lowest; \
	echo "The lowest versions cannot be installed here: their tests are skipped." >&2; fi

# Independent clients for tests/peers, in folders outside the environment. If they or node cannot be installed, their
# tests are skipped with a message, and the next `make test-all` tries again.
.venv/.peers: .venv/.made tests/peers/requirements.txt constraints.txt
	@$(call beside,.venv/peers,tests/peers/requirements.txt,clients of tests/peers,tests are skipped)

.venv/.peers-bench: .venv/.made tests/benchmarks/requirements.txt constraints.txt
	@$(call beside,.venv/peers-bench,tests/benchmarks/requirements.txt,peers of tests/benchmarks,rows say so)

# This peer needs older versions of packages than the toolkit: without an environment of its own, its rows say so.
.venv/.profiling: .venv/.made tests/benchmarks/pages/requirements.txt
	@rm -rf .venv/profiling; uv=$$(command -v uv || echo .tools/bin/uv); set -- --quiet -r tests/benchmarks/pages/requirements.txt; \
	if { test -x "$$uv" && "$$uv" venv --quiet --python $(RUN)/python .venv/profiling && "$$uv" pip install \
	--python .venv/profiling/bin/python "$$@"; } || { $(PYTHON) -m venv --clear .venv/profiling && \
	.venv/profiling/bin/python -m pip install "$$@"; }; then touch $@; else rm -rf .venv/profiling; \
	echo "ydata-profiling cannot be installed here: the rows of make bench about it say so." >&2; fi

# PySpark takes half a gigabyte, so it is installed only where Java is, without which it is of no use.
.venv/.spark: .venv/.made tests/spark/requirements.txt constraints.txt
	@if command -v java >/dev/null; then \
	$(call beside,.venv/spark,tests/spark/requirements.txt,package PySpark,tests are skipped); fi

.venv/.peers-node: .venv/.made tests/peers/package.json
	@rm -rf .venv/peers-node; mkdir .venv/peers-node; cp tests/peers/package.json .venv/peers-node; \
	if command -v node >/dev/null && npm install --prefix .venv/peers-node --silent --ignore-scripts \
	--no-audit --no-fund --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=3000; \
	then touch $@; else rm -rf .venv/peers-node; \
	echo "The node client of tests/peers cannot be installed here: its tests are skipped." >&2; fi

define beside
rm -rf $(1); uv=$$(command -v uv || echo .tools/bin/uv); set -- --quiet --target $(1) -c constraints.txt -r $(2); \
if { test -x "$$uv" && "$$uv" pip install --python $(RUN)/python "$$@"; } || \
{ $(RUN)/python -m pip --version >/dev/null 2>&1 && $(RUN)/python -m pip install --disable-pip-version-check \
--root-user-action=ignore "$$@"; }; then touch $@; else rm -rf $(1); \
echo "The Python $(3) cannot be installed here: their $(4)." >&2; fi
endef

# uv is much faster than pip; venv and pip are the fallback if uv cannot be installed or reaches no packages.
define install
uv=$$(command -v uv || echo .tools/bin/uv); \
echo "Installing $(1): once, a minute or so."; \
{ test -x "$$uv" && "$$uv" pip install --quiet --python $(RUN)/python -c constraints.txt -e "$(1)"; } || \
{ { $(RUN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv; } && touch .venv/.made && \
  $(RUN)/python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore -c constraints.txt -e "$(1)"; }
endef

# %pip in a notebook needs pip, which uv leaves out by default: an environment without it gets it here.
.venv/bin/pip: | .venv/.made
	@test -x $@ || { uv=$$(command -v uv || echo .tools/bin/uv); \
	test -x "$$uv" && "$$uv" pip install --quiet --python $(RUN)/python pip; } || $(RUN)/python -m ensurepip || \
	echo "pip cannot be installed into .venv here: %pip in a notebook will not work." >&2

.venv/.made:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not on PATH: install Python 3.11 or newer, or name \
	one with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("p2p_analytics needs Python 3.11 or newer, but \
	$(PYTHON) is %s: name another with make PYTHON=/path/to/python3" % sys.version.split()[0])'
	@command -v uv >/dev/null || test -x .tools/bin/uv || \
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target .tools uv==$(UV_VERSION) || \
	echo "uv cannot be installed here; using pip, which is slower."
	@uv=$$(command -v uv || echo .tools/bin/uv); \
	$(RUN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { rm -rf .venv; \
	test -x "$$uv" && "$$uv" venv --quiet --seed --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv; } || \
	$(PYTHON) -m venv --clear .venv
	@touch $@
