# The few commands of this project. The builds themselves are CMake presets (CMakePresets.json), in build/<preset>.
# What differs between the builds, and how to run one part alone, is in CONTRIBUTING.md.
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help setup build demo test quick tsan check bench install clean
.DEFAULT_GOAL := help

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what a build needs (Debian packages, one data file); does nothing when all is there
	@scripts/setup.sh

build: setup ## Build the program and the library: build/release/veneer
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target veneer veneer_shared

demo: build ## Build the program and draw apple.png with the model that ships with it
	build/release/veneer image -p "red apple" -o apple.png
	@echo "The picture is $(CURDIR)/apple.png"

test: setup ## Build and run every test, again with sanitizers, and fuzz the parsers for a moment
	@scripts/test.py release asan fuzz

quick: setup ## Build and run the unit tests alone
	@scripts/test.py --only '^unit_' release

tsan: setup ## Run the unit tests under the thread sanitizer
	@scripts/test.py --only '^unit_' tsan

check: setup ## Check layers, sizes, headers, words and formatting
	@scripts/check.py

bench: setup ## Time single operations and whole pictures; bench/compare.py sets two runs side by side
	@cmake --preset dev --log-level=WARNING
	@cmake --build --preset dev
	build/dev/bench_micro --benchmark_repetitions=5 --benchmark_out=build/dev/micro.json
	python3 bench/e2e.py build/dev/veneer build/dev/e2e.json

install: build ## Install the program and its data under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## Remove all builds; the fetched data file stays
	@rm -rf build/release build/dev build/asan build/tsan build/fuzz
