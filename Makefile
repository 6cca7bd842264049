# The house's front door. `make help` lists what there is.
# Tools of the distribution come first: shims of version managers may point anywhere.
export PATH := /usr/bin:/bin:/usr/sbin:/sbin:$(PATH)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 600
PYTHON := .venv/bin/python
REPORTS := $(BUILD)/reports

.DEFAULT_GOAL := build
.PHONY: help setup build test demo fuzz bench accuracy check-deep format clean \
        tests-built test-static test-unit test-python test-fuzz

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## install everything: Debian packages (root or sudo), PyPI packages into .venv
	@tools/setup.sh test

# Configured once without tests, so that the command needs none of the packages for testing.
build: ## build the command build/weft
	@tools/setup.sh build
	@[ -e $(BUILD)/release/build.ninja ] || cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=OFF
	@cmake --build $(BUILD)/release -j $(JOBS) --target weft weft_manuals weft_probes weft_calibrate
	@ln -sfn release/bin/weft $(BUILD)/weft

demo: build ## predict a real 4-rank training job from the recording in examples/
	@python3 tools/demo.py $(BUILD)/weft examples/resnet50-w4

tests-built: setup
	@cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=ON
	@cmake --build $(BUILD)/release -j $(JOBS)
	@ln -sfn release/bin/weft $(BUILD)/weft
	@mkdir -p $(REPORTS)

test-static: setup
	@$(PYTHON) tools/check_layers.py
	@tools/format.sh --check
	@tsc --noEmit -p weft/report/web
	@echo "types: the page's modules fit together"

test-unit: tests-built
	@ctest --test-dir $(BUILD)/release -j $(JOBS) --output-on-failure --timeout 300 \
	  --output-junit $(CURDIR)/$(REPORTS)/ctest.xml | grep -vE '^ +Start|   Passed '

# The compiler by the name that CMake calls it: ccache takes another name for another compiler.
test-python: tests-built
	@CC=cc CXX=c++ $(PYTHON) -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --force-reinstall --config-settings build-dir=$(BUILD)/wheel .
	@WEFT_COMMAND=$(CURDIR)/$(BUILD)/weft $(PYTHON) -m pytest -q -p no:cacheprovider \
	  --junitxml=$(REPORTS)/pytest.xml tests python/tests
	@$(PYTHON) -m mypy --strict python/weft python/tests tests
	@$(PYTHON) -m mypy.stubtest weft --allowlist python/stubtest-allowlist.txt \
	  --mypy-config-file pyproject.toml

test-fuzz: setup
	@tools/fuzz.sh $(BUILD)/fuzz 10

test: test-static test-unit test-python test-fuzz ## build and pass every test
	@$(PYTHON) tools/skipped.py $(REPORTS)/ctest.xml $(REPORTS)/pytest.xml

fuzz: setup ## fuzz every reader for FUZZ_SECONDS (600) each
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

bench: setup ## build and run the benchmarks
	@cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=ON -DWEFT_BENCH=ON
	@cmake --build $(BUILD)/release -j $(JOBS)
	@ln -sfn release/bin/weft $(BUILD)/weft
	@bench/run.sh $(BUILD)/release

# The page is rewritten also where a bar fails, so that it shows which.
accuracy: tests-built ## measure the accuracy anew and write docs/reference/accuracy.md
	@status=0; $(BUILD)/release/bench/accuracy --markdown >$(BUILD)/accuracy.md || status=$$?; \
	  if [ $$status -le 1 ]; then mv $(BUILD)/accuracy.md docs/reference/accuracy.md; fi; exit $$status

check-deep: setup ## sanitizer builds of all tests, long fuzzing, big files
	@for preset in asan tsan; do \
	  cmake --preset $$preset -B $(BUILD)/$$preset; \
	  cmake --build $(BUILD)/$$preset -j $(JOBS); \
	  TSAN_OPTIONS="suppressions=$(CURDIR)/tools/tsan.supp" \
	    ctest --test-dir $(BUILD)/$$preset -j $(JOBS) --output-on-failure --timeout 1800; \
	  TSAN_OPTIONS="suppressions=$(CURDIR)/tools/tsan.supp" \
	    WEFT_COMMAND=$(CURDIR)/$(BUILD)/$$preset/bin/weft \
	    $(PYTHON) -m pytest -q -p no:cacheprovider tests/cli; \
	done
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)
	@$(MAKE) bench

format: setup ## rewrite the C++ sources in the house style
	@tools/format.sh

clean: ## remove what was built; .venv stays
	@rm -rf $(BUILD)
