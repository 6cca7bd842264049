# Commands for developers. `make help` lists them.
# Search the programs of the Linux distribution first. Otherwise a version manager such as pyenv
# might put other versions of them in front.
export PATH := /usr/bin:/bin:/usr/sbin:/sbin:$(PATH)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

BUILD ?= build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 600
FUZZERS = $(shell find weft testbed -name "*_fuzz.cc")
PYTHON := .venv/bin/python
REPORTS := $(BUILD)/reports
# Runs a command, and stores its name and how long it took. `make test` prints them in its summary.
TIMED := tools/timed.sh $(REPORTS)

.DEFAULT_GOAL := build
.PHONY: help setup build test demo wheel check-wheel fuzz bench accuracy check-deep coverage format clean \
        tests-built test-static test-unit test-python test-fuzz test-repeatedly \
        check-asan check-tsan check-fuzz

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## install everything: Debian packages (root or sudo), PyPI packages into .venv
	@tools/setup.sh test

# If the build folder is new, it is configured without tests. Then the build of the command does not
# need the packages for testing.
build: ## build the command build/weft
	@tools/setup.sh build
	@[ -e $(BUILD)/release/build.ninja ] || cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=OFF
	@cmake --build $(BUILD)/release -j $(JOBS) --target weft weft_manuals weft_probes weft_calibrate
	@ln -sfn release/bin/weft $(BUILD)/weft

demo: build ## predict a real 4-rank training job from the recording in examples/
	@python3 tools/demo.py $(BUILD)/weft examples/resnet50-w4

# Tests, the accuracy program and the Python module are built in the build folder of the command.
tests-built: setup
	@cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=ON -DWEFT_PYTHON=ON \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)
	@$(TIMED) "build" cmake --build $(BUILD)/release -j $(JOBS)
	@ln -sfn release/bin/weft $(BUILD)/weft

test-static: setup
	@$(PYTHON) tools/check_layers.py
	@$(PYTHON) -m lizard -l cpp -l python -L 80 -C 1000 -w weft cli testbed calibrate probes python bench \
	  tools tests
	@$(TIMED) "format" tools/format.sh --check
	@$(TIMED) "types of the page" tsc --noEmit -p weft/report/web

test-unit: tests-built
	@$(TIMED) "C++ tests" ctest --test-dir $(BUILD)/release -j $(JOBS) --output-on-failure \
	  --timeout 300 --output-junit $(CURDIR)/$(REPORTS)/ctest.xml | grep -vE '^ +Start|   Passed '

# The tests import the package from a folder that contains the same files as a wheel.
test-python: tests-built
	@rm -rf $(BUILD)/package
	@cmake --install $(BUILD)/release --component python --prefix $(BUILD)/package >/dev/null
	@$(TIMED) "Python tests" env PYTHONPATH=$(CURDIR)/$(BUILD)/package \
	  WEFT_COMMAND=$(CURDIR)/$(BUILD)/weft $(PYTHON) -m pytest -q -p no:cacheprovider \
	  -n $(JOBS) --dist loadfile --junitxml=$(REPORTS)/pytest.xml tests python/tests
	@$(TIMED) "types of Python" $(PYTHON) -m mypy --strict python/weft python/tests tests
	@$(TIMED) "stubs of Python" env PYTHONPATH=$(CURDIR)/$(BUILD)/package $(PYTHON) -m mypy.stubtest \
	  weft --allowlist python/stubtest-allowlist.txt --mypy-config-file pyproject.toml

test-fuzz: setup
	@$(TIMED) "fuzzing" tools/fuzz.sh $(BUILD)/fuzz 5

test: ## build and pass every test
	@mkdir -p $(REPORTS) && rm -f $(REPORTS)/*
	@$(MAKE) --no-print-directory test-static test-unit test-python test-fuzz
	@$(PYTHON) tools/test_summary.py $(REPORTS)

wheel: ## build self-contained wheels and the source distribution in dist/
	@tools/setup.sh wheel
	@CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) tools/wheel.sh $(BUILD)/wheel dist

check-wheel: wheel ## install and use the wheels in fresh Debian 12 and 13 systems (needs root)
	@tools/wheel_check/check.sh dist $(BUILD)/wheel_check

fuzz: setup ## fuzz every reader for FUZZ_SECONDS (600) each
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

bench: setup ## build and run the benchmarks
	@cmake --preset release -B $(BUILD)/release -DWEFT_TESTS=ON -DWEFT_BENCH=ON
	@cmake --build $(BUILD)/release -j $(JOBS)
	@ln -sfn release/bin/weft $(BUILD)/weft
	@bench/run.sh $(BUILD)/release

# If an error is larger than its bar, the program exits with status 1. The page is written also in
# this case, so that it shows the error.
accuracy: tests-built ## measure the accuracy anew and write docs/reference/accuracy.md
	@status=0; $(BUILD)/release/bench/accuracy --markdown >$(BUILD)/accuracy.md || status=$$?; \
	  settings=0; echo >>$(BUILD)/accuracy.md; \
	  $(BUILD)/release/bench/settings_accuracy --markdown >>$(BUILD)/accuracy.md || settings=$$?; \
	  if [ $$settings -gt $$status ]; then status=$$settings; fi; \
	  if [ $$status -le 1 ]; then mv $(BUILD)/accuracy.md docs/reference/accuracy.md; fi; exit $$status

# Each part takes long, so each can run alone: make check-asan, check-tsan, check-fuzz.
check-deep: ## sanitizer builds of all tests, an hour of fuzzing
	@rm -f $(BUILD)/deep/*
	@$(MAKE) --no-print-directory check-asan check-tsan check-fuzz
	@awk -F'\t' '{printf "%5.1f min  %s\n", $$1 / 60, $$2}' $(BUILD)/deep/times.tsv

# An interrupted command exits at once and leaves its threads running. This is no leak.
check-asan check-tsan: check-%: setup
	@cmake --preset $* -B $(BUILD)/$*
	@tools/timed.sh $(BUILD)/deep "$* build" cmake --build $(BUILD)/$* -j $(JOBS)
	@tools/timed.sh $(BUILD)/deep "$* C++ tests" \
	  ctest --test-dir $(BUILD)/$* -j $(JOBS) --output-on-failure --timeout 1800 \
	  | grep -vE '^ +Start|   Passed '
	@WEFT_COMMAND=$(CURDIR)/$(BUILD)/$*/bin/weft WEFT_SANITIZER=$* \
	  TSAN_OPTIONS=report_thread_leaks=0 \
	  tools/timed.sh $(BUILD)/deep "$* tests of the command" \
	  $(PYTHON) -m pytest -q -p no:cacheprovider -n $(JOBS) --dist loadfile tests/cli

check-fuzz: setup
	@tools/timed.sh $(BUILD)/deep "fuzzing" \
	  tools/fuzz.sh $(BUILD)/fuzz $$((3600 * 2 / $(words $(FUZZERS))))

# Tests must also pass while other programs keep the processors busy. So two busy loops run beside
# the last three runs.
test-repeatedly: ## run make test five times, three times beside other load
	@tools/test_repeatedly.sh

# The tests of the command count, too, because only they run most of the code of cli/.
coverage: setup ## print which share of the lines the tests run
	@cmake --preset coverage -B $(BUILD)/coverage
	@cmake --build $(BUILD)/coverage -j $(JOBS)
	@find $(BUILD)/coverage -name '*.gcda' -delete
	@ctest --test-dir $(BUILD)/coverage -j $(JOBS) --timeout 600 | tail -n 3
	@WEFT_COMMAND=$(CURDIR)/$(BUILD)/coverage/bin/weft $(PYTHON) -m pytest -q -p no:cacheprovider \
	  -n $(JOBS) --dist loadfile tests/cli tests/testbed | tail -n 3
	@$(PYTHON) tools/coverage.py $(BUILD)/coverage

format: setup ## rewrite the C++ sources in the house style
	@tools/format.sh

clean: ## remove what was built; .venv stays
	@rm -rf $(BUILD)
