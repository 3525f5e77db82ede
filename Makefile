# Each target is complete by itself on a fresh Debian 12, Debian 13 or Ubuntu 24.04: it installs what is missing,
# builds what has changed, and runs. The steps are scripts in .ci/; their logs are in build/logs/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test bench docs wheel lint setup build clean distclean
python := .venv/bin/python
export JOBS QUERN_PYTHON QUERN_LLVM QUERN_BUILD_TYPE QUERN_WERROR PYTEST_ARGS CTEST_ARGS

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## build, then three kernels on a photograph (DEMO_ARGS="--image FILE --out DIR --show-source --device cpu")
	@.ci/setup demo
	@.ci/build quern_core
	@$(python) -m quern demo $(DEMO_ARGS)

test: ## build, then every test, C++ and Python (PYTEST_ARGS="-k cache" CTEST_ARGS="-R plan")
	@.ci/setup demo test
	@.ci/build
	@.ci/test

bench: ## build, then the benchmarks beside their peers (BENCH_ARGS="--section cpu --with-peers"); JSON in out/bench
	@.ci/setup bench
	@.ci/build quern_core
	@$(python) -m tests.bench $(BENCH_ARGS)

docs: ## build, then the documentation into docs/_build/html
	@.ci/setup docs
	@.ci/build quern_core
	@$(python) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "quern: open docs/_build/html/index.html"

wheel: ## one wheel for machines with and without a GPU, into dist/
	@.ci/setup test
	@.ci/build quern_core
	@.ci/wheel dist

lint: ## ruff, mypy and, where they are installed, clang-format and shellcheck
	@.ci/setup lint
	@.ci/build quern_core
	@.ci/lint

setup: ## system packages and the virtual environment only
	@.ci/setup demo test

build: ## setup, then compile and link into .venv only
	@.ci/setup
	@.ci/build

clean: ## remove what was built
	rm -rf build build-gpu dist out docs/_build docs/reference/generated

distclean: clean ## remove the virtual environment too
	rm -rf .venv
