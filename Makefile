# `make` alone lists the targets. Everything runs from a fresh clone; what a target needs, it installs or names.

.DEFAULT_GOAL := help
CARGO ?= cargo
FUZZ_SECONDS ?= 20

# What the lock file says, exactly; where a mirror lacks one of the native parts that it names for other machines, what is there.
NPM_INSTALL := npm ci --no-audit --no-fund --loglevel=silent || npm install --no-save --no-audit --no-fund

# One word for the version of a tool, so that two machines check the same.
CARGO_DENY := 0.20
CARGO_MACHETE := 0.9

.PHONY: help run test check fmt lint openapi bench web audit fuzz

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What the tests of the workspace ask of shared dependencies. Built with the same, the hub of `make run` and that of `make test` are
# one, and neither compiles again what the other has; a tidy test compares them.
SHARED := --features tokio/test-util,rustix/event,rustix/linux_5_11,rustix/pty,rustix/time

# The dev profile: a cold build costs a third of a release build, a rebuild takes seconds, and `make test` finds its
# dependencies built. Password hashing, SQLite and JSON are optimised there too (see Cargo.toml), so the hub is quick
# enough to try and to work with. `make bench` measures the release build.
run: page ## build and start the hub on http://127.0.0.1:8484/
	$(CARGO) run --locked -p folkmoot-moot $(SHARED) -- serve

test: tools page fmt lint contract ## formatting, clippy with warnings denied, all tests, the page in a browser
	$(CARGO) test --workspace --locked
	@$(MAKE) --no-print-directory webtest
	@$(MAKE) --no-print-directory kittest

check: test soak contract-calls schemathesis real-engines fuzz audit ## test, then the long soaks, others' clients, the real engines, fuzzing, audit

# Both descriptions against the published schemas of their formats.
.PHONY: contract
contract:
	@if ! command -v npm >/dev/null 2>&1; then echo "there is no Node.js; the descriptions were not validated" >&2; exit 0; fi; \
	cd contract && { [ -f node_modules/.package-lock.json ] && [ ! package-lock.json -nt node_modules/.package-lock.json ] || $(NPM_INSTALL); } && \
	node validate.mjs

# What is installed for the tools that are written in Python, and for how long schemathesis looks.
PYTHON ?= python3
TOOLS := target/contract
SCHEMATHESIS := 4.32.5
OPENAPI_PYTHON_CLIENT := 0.29.1
MYPY := 2.4.1
SCHEMATHESIS_SECONDS ?= 180
WITH_HUB = $(PYTHON) contract/with_hub.py target/debug/moot

.PHONY: contracttools
contracttools:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "schemathesis and the generated clients need Python 3.11 or newer" >&2; exit 1; }
	@wanted="$(SCHEMATHESIS) $(OPENAPI_PYTHON_CLIENT) $(MYPY)"; \
	if [ "$$(cat $(TOOLS)/venv/installed 2>/dev/null)" != "$$wanted" ]; then \
		$(PYTHON) -m venv $(TOOLS)/venv && $(TOOLS)/venv/bin/pip install -q --disable-pip-version-check \
			schemathesis==$(SCHEMATHESIS) openapi-python-client==$(OPENAPI_PYTHON_CLIENT) mypy==$(MYPY) && \
		echo "$$wanted" > $(TOOLS)/venv/installed; \
	fi
	$(CARGO) build -q --locked -p folkmoot-moot $(SHARED)

.PHONY: schemathesis
schemathesis: contracttools ## let schemathesis try every operation for SCHEMATHESIS_SECONDS (180)
	$(WITH_HUB) contract/schemathesis.sh $(abspath $(TOOLS)) $(SCHEMATHESIS_SECONDS)

.PHONY: contract-calls
contract-calls: contracttools ## generate Python and TypeScript clients, and call a hub fifty times through each
	contract/python/generate.sh $(abspath $(TOOLS))
	PYTHONPATH=$(TOOLS)/python $(WITH_HUB) $(TOOLS)/venv/bin/python contract/python/calls.py
	cd contract/typescript && { [ -f node_modules/.package-lock.json ] && [ ! package-lock.json -nt node_modules/.package-lock.json ] || $(NPM_INSTALL); } && \
		npm run --silent generate && npm run --silent build
	$(WITH_HUB) node contract/typescript/generated/out/calls.js

.PHONY: soak
soak: ## the tests that take minutes
	$(CARGO) test -p folkmoot-moot --locked --test e2e soak -- --ignored

# Which plays or recordings, by a part of their names, as in REAL=claude/warm/channel or RECORD=codex-plain; all of them otherwise.
REAL ?=
RECORD ?=

.PHONY: real-engines
real-engines: realprograms ## install the real engines from the registry and play every case with them
	REAL="$(REAL)" $(CARGO) test -p folkmoot-moot --locked --test real

.PHONY: record-engines
record-engines: realprograms ## record what the real engines write, for `make test` to play; look at the difference
	RECORD="$(RECORD)" $(CARGO) test -p folkmoot-engines --locked --test record

.PHONY: realprograms
realprograms:
	@crates/engines/tests/programs/install.sh

.PHONY: autobahn
autobahn: ## Autobahn|Testsuite's fuzzing client against an echo server over the hub's WebSocket layer (needs Python 2.7)
	$(CARGO) build --locked -p folkmoot-hub --example echo
	@crates/hub/tests/autobahn/run.sh target/debug/examples/echo

fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: tools
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	@command -v chromium >/dev/null 2>&1 || $(MAKE) --no-print-directory browser
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || $(MAKE) --no-print-directory server PACKAGE=postgresql
	@command -v nats-server >/dev/null 2>&1 || [ -x /usr/sbin/nats-server ] || $(MAKE) --no-print-directory server PACKAGE=nats-server

# Tests of several nodes use real servers, which they start themselves, each in a folder of its own. Where one cannot be installed
# the tests say that they were passed over; where CI is set they fail.
.PHONY: server
server:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(PACKAGE)) >/dev/null \
			|| echo "$(PACKAGE) could not be installed; tests that need it are passed over" >&2; \
	else echo "there is no $(PACKAGE); tests that need it are passed over" >&2; fi

# Some tests use a real browser. Where it cannot be installed they say that they were passed over.
.PHONY: browser
browser:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null \
			|| echo "chromium could not be installed; tests that need a browser are passed over" >&2; \
	else echo "there is no chromium; tests that need a browser are passed over" >&2; fi

fuzz: ## fuzz the wire types for FUZZ_SECONDS (20) each
	@./fuzz/run.sh $(FUZZ_SECONDS)

openapi: nodemodules ## write docs/openapi.json, docs/asyncapi.json and the page's types, after a change of what travels
	$(CARGO) run -q -p folkmoot-moot $(SHARED) -- openapi > docs/openapi.json.new
	mv docs/openapi.json.new docs/openapi.json
	$(CARGO) run -q -p folkmoot-moot $(SHARED) -- asyncapi > docs/asyncapi.json.new
	mv docs/asyncapi.json.new docs/asyncapi.json
	cd web && npm run --silent types
	@$(MAKE) --no-print-directory kittypes

bench: ## measure the release build against a bare server and a public peer; writes bench/RESULTS.md
	$(CARGO) build --release --locked -p folkmoot-moot
	$(CARGO) run --release --locked -p folkmoot-bench -- run
	$(CARGO) bench --locked -p folkmoot-runs --bench lines
	$(CARGO) bench --locked -p folkmoot-moot --bench pools

web: nodemodules ## build the page into web/dist; the next build of the hub takes it in
	cd web && npm run --silent build

.PHONY: nodemodules
nodemodules:
	@command -v npm >/dev/null 2>&1 || { echo "the page is built with Node.js 20.19 or newer; install it (with npm) and try again" >&2; exit 1; }
	@cd web && if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then $(NPM_INSTALL); fi

# The page: types, the state layer, and the page in a browser against the binary that `cargo test` has built.
.PHONY: webtest
webtest:
	@if ! command -v npm >/dev/null 2>&1; then echo "there is no Node.js; the tests of the page are passed over" >&2; exit 0; fi; \
	cd web && npm run --silent check && npm run --silent test && \
	if command -v chromium >/dev/null 2>&1; then npm run --silent e2e; else echo "there is no chromium; the page was not tried in a browser" >&2; fi

# The kits for writing agents: types from the contract, tests against the hub that `cargo test` has built, and the examples, which the
# documents and the page show. Python's part needs Python 3.10 or newer with its `venv`, and a place of its own for what it depends on.
KIT_VENV := $(or $(CARGO_TARGET_DIR),target)/kit-venv
KIT_PYTHON := $(shell python3 -c 'import ensurepip, sys, venv; sys.version_info >= (3, 10) and print("python3")' 2>/dev/null)

.PHONY: kittest kittypes kitmodules kitvenv
kittest: kitmodules kitvenv
	@if ! command -v npm >/dev/null 2>&1; then echo "there is no Node.js; the kits were not tried" >&2; exit 0; fi; \
	cd sdk/typescript && npm run --silent check && npm run --silent test
	@if [ -n "$(KIT_PYTHON)" ]; then cd sdk/python && export PATH="$(abspath $(KIT_VENV))/bin:$$PATH" && \
		python scripts/write_types.py --check && mypy && python -m unittest discover -t . -s tests; fi

kittypes: kitmodules
	cd sdk/typescript && npm run --silent types && npm run --silent examples
	@if [ -n "$(KIT_PYTHON)" ]; then python3 sdk/python/scripts/write_types.py; \
	else echo "there is no Python 3.10; the types of its kit were not written" >&2; fi

kitmodules:
	@if command -v npm >/dev/null 2>&1; then cd sdk/typescript && \
	if [ ! -f node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then $(NPM_INSTALL); fi; fi

kitvenv:
	@if [ -z "$(KIT_PYTHON)" ]; then echo "there is no Python 3.10 with venv; the kit for Python was not tried" >&2; \
	elif [ ! -f $(KIT_VENV)/ready ] || [ sdk/python/pyproject.toml -nt $(KIT_VENV)/ready ]; then \
		$(KIT_PYTHON) -m venv --clear $(KIT_VENV) && $(KIT_VENV)/bin/pip install -q --disable-pip-version-check -e 'sdk/python[check]' && \
		touch $(KIT_VENV)/ready; \
	fi

# For whoever wants to run or test the hub: the page, when there is Node.js and something of it changed.
.PHONY: page
page:
	@if ! command -v npm >/dev/null 2>&1; then \
		echo "there is no Node.js; the hub is built without its page (see \`make web\`)" >&2; \
	elif [ ! -f web/dist/index.html ] || [ -n "$$(find web sdk/curl sdk/python/examples sdk/typescript/examples -path web/node_modules -prune -o -path web/dist -prune -o -path web/tests -prune -o -type f -newer web/dist/index.html -print -quit)" ]; then \
		$(MAKE) --no-print-directory web; \
	fi

audit: ## licences, advisories, sources and bans of all dependencies, and those that nobody uses
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny@^$(CARGO_DENY)
	$(CARGO) deny --locked check licenses bans sources
	@command -v cargo-machete >/dev/null || $(CARGO) install --locked cargo-machete@^$(CARGO_MACHETE)
	$(CARGO) machete
	@if $(CARGO) deny fetch db; then $(CARGO) deny --locked check advisories; \
	else echo "warning: the advisory database cannot be reached; advisories were NOT checked" >&2; fi
