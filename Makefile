# Commands for development. `make` alone lists them.

# docc is beside swift in the toolchain; if it is not on PATH, it is looked for there.
DOCC ?= $(shell command -v docc || echo "$$(dirname "$$(readlink -f "$$(command -v swift)")")/docc")
# Arguments for `make demo`, `make drill`, `make fuzz` and `make bench`: make bench ARGS="--quick"
ARGS ?=
PREFIX ?= /usr/local

# `make lint` treats warnings as errors. In CI every build does, and all builds share one folder. Elsewhere the strict
# build has a separate folder, so that strict and ordinary builds do not invalidate each other.
ifdef CI
strict_folder := .build
else
strict_folder := .build/strict
endif
docs_folder := .build/docs
# What users install. SwiftPM builds one product at a time.
programs := sluice sluice-room

.DEFAULT_GOAL := help
.PHONY: help demo check test test-postgres test-trixie test-upgrade faults drill fuzz fuzz-api fuzz-files build shipped install deb tarball image test-packages test-reproducible test-image release lint format docs pictures bench bench-scale bench-fleet

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## build and run the demonstration; ARGS=page, formats, damage, edits or book shows more
	@scripts/prepare build demo
	scripts/build -c release --product demo
	.build/release/demo $(ARGS)

# The words after `make check` are modules.
ifeq (check,$(firstword $(MAKECMDGOALS)))
modules := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
$(eval $(modules): ;@:)
endif

check: ## build and run the quick tests, in a few minutes; make check Ledger runs those of one module
	@scripts/prepare build test python
	@scripts/check $(modules)

test: ## build and run all tests
	@scripts/prepare build test drill demo python
	scripts/build --build-tests
	@scripts/run-tests

test-postgres: ## run the ledger's tests on PostgreSQL 17 and 18
	@scripts/prepare build test postgres
	scripts/build --build-tests
	@scripts/test-postgres 17 18

test-trixie: ## build and test in a new Debian 13, with libav 7.1; ARGS="ledger rest" runs only these kinds of tests
	@scripts/prepare trixie
	@scripts/test-trixie $(ARGS)

test-upgrade: ## build the last release, and run it beside this build on one ledger
	@scripts/prepare build test python
	for program in $(programs); do scripts/build --product $$program || exit; done
	@scripts/test-upgrade

faults: ## run the fault tests with five times as many faults as make test: 15 minutes
	@scripts/prepare build test
	scripts/build --build-tests
	SLUICE_FAULT_SCALE=5 swift test --skip-build --disable-xctest --no-parallel --filter '^FaultTests\.' | tee .build/faults.log
	@grep -h '^faults: ' .build/faults.log | sed 's/^faults: //'

drill: ## let 200 faults happen to a cluster of many machines: 20 minutes, as root; ARGS="--seed 7 --faults 20" repeats others
	@scripts/prepare build drill
	for program in $(programs); do scripts/build -c release --product $$program || exit; done
	SLUICE_TEST_PROGRAMS=.build/release python3 -B Tests/Drill/drill.py $(ARGS)

fuzz: ## fuzz the text parsers and the pump room, guided by coverage; ARGS=600 runs each for ten minutes instead of one
	@scripts/prepare build test
	@scripts/fuzz $(ARGS)

fuzz-api: ## make requests from the description of the HTTP API; ARGS=5000 makes as many for each operation instead of 500
	@scripts/prepare build test python
	scripts/build --build-tests
	SLUICE_API_EXAMPLES=$(or $(ARGS),500) .build/python/bin/python -m pytest -p no:cacheprovider Tests/HTTP/test_schema.py

fuzz-files: ## convert 10,000 corrupt files in sandboxed rooms
	@scripts/prepare build test
	scripts/build --build-tests
	SLUICE_FUZZ_FILES=10000 swift test --skip-build --disable-xctest --filter '^PumpRoomTests\.CorruptionTests'

build: ## build the command and the program of its rooms for release
	@scripts/prepare build
	for program in $(programs); do \
		scripts/build -c release --product $$program --static-swift-stdlib -Xlinker -z -Xlinker now || exit; done

shipped: ## build the same for packages, with the same bytes in every folder
	@scripts/prepare build
	for program in $(programs); do \
		SLUICE_COMMIT=$$(scripts/commit) scripts/build --fixed-path -c release --product $$program --static-swift-stdlib -Xlinker -z -Xlinker now \
			--scratch-path .build/shipped || exit; done

install: build ## install the programs, the manual pages and completions under PREFIX
	scripts/install .build/release/sluice $(DESTDIR)$(PREFIX)

deb: shipped ## make the Debian packages in .build/packages
	@scripts/prepare packages
	scripts/make-packages deb .build/shipped/release/sluice .build/packages

tarball: shipped ## make a tarball for other systems in .build/packages
	@scripts/prepare packages
	scripts/make-packages tarball .build/shipped/release/sluice .build/packages

test-packages: shipped ## install, upgrade and purge the Debian packages in a new system of this release of Debian
	@scripts/prepare test-packages
	@scripts/test-packages .build/shipped/release/sluice

test-reproducible: ## build the last commit in two folders and compare the bytes: 25 minutes
	@scripts/prepare build packages
	@scripts/test-reproducible

image: shipped ## make a container image in .build/packages
	@scripts/prepare image
	scripts/make-image .build/shipped/release/sluice .build/packages

test-image: shipped ## make a container image and run it with a separate file system, as process 1
	@scripts/prepare image test python
	@scripts/test-image .build/shipped/release/sluice

release: ## make all files of a release in clean systems of Debian 12 and 13, as root: an hour; ARGS=FOLDER names the folder
	@scripts/prepare release
	@scripts/make-release $(or $(ARGS),.build/release-files)

lint: ## check layout and documentation comments, and build with warnings as errors
	@scripts/prepare build
	swift format lint --strict --recursive --parallel Sources Tests Plugins Demo Benches Package.swift
	SLUICE_STRICT=1 scripts/build --build-tests --scratch-path $(strict_folder)

format: ## format the code in place
	@scripts/prepare
	swift format --in-place --recursive --parallel Sources Tests Plugins Demo Benches Package.swift

docs: ## build the documentation of the Media library and of the value types in its API
	@scripts/prepare build
	mkdir -p $(docs_folder)/symbols
	scripts/build --scratch-path $(docs_folder) --target Media \
		-Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc $(CURDIR)/$(docs_folder)/symbols
	$(DOCC) convert $(wildcard Sources/Media/Media.docc) --additional-symbol-graph-dir $(docs_folder)/symbols \
		--warnings-as-errors --fallback-display-name Media --output-path $(docs_folder)/Media.doccarchive
	@echo "the documentation is in $(docs_folder)/Media.doccarchive"

pictures: ## make the pictures of the page and of the terminal anew
	@scripts/prepare build test demo python
	scripts/build --build-tests
	SLUICE_REWRITE_DOCS=1 .build/python/bin/python -m pytest -p no:cacheprovider Tests/HTTP/test_demo_page.py Tests/Terminal/test_pictures.py

bench: ## run the benchmarks, with a release build
	@scripts/prepare build bench
	@$(MAKE) --silent -C Benches/floor
	scripts/build -c release --product bench-ours --static-swift-stdlib
	for program in $(programs) poisoned-sluice poisoned-sluice-room test-program; do \
		scripts/build -c release --product $$program --static-swift-stdlib || exit; done
	scripts/build -c release --product bench
	.build/release/bench $(ARGS)

bench-scale: ## measure a ledger with ten million jobs, and one with a long transaction: 20 minutes, 20 GB of disk
	@scripts/prepare build bench
	scripts/build -c release --product bench
	.build/release/bench scale held $(ARGS)

bench-fleet: ## measure a thousand simulated workers on one ledger, and the backup of a large one: 12 minutes, 10 GB of memory
	@scripts/prepare build bench
	scripts/build -c release --product bench
	.build/release/bench fleet backup $(ARGS)
