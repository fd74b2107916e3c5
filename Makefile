# `make` alone lists the targets. Everything runs from a fresh clone; what a target needs, it installs or names.

.DEFAULT_GOAL := help
CARGO ?= cargo
FUZZ_SECONDS ?= 20

# One word for the version of the tool, so that two machines check the same.
CARGO_DENY := 0.20

.PHONY: help run test check fmt lint openapi bench web audit fuzz

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The dev profile: a cold build costs a third of a release build, a rebuild takes seconds, and `make test` finds its
# dependencies built. Password hashing, SQLite and JSON are optimised there too (see Cargo.toml), so the hub is quick
# enough to try and to work with. `make bench` measures the release build.
run: ## build and start the hub on http://127.0.0.1:8484/
	$(CARGO) run --locked -p folkmoot-server -- serve

test: tools fmt lint ## formatting, clippy with warnings denied, all tests
	$(CARGO) test --workspace --locked

check: test soak fuzz audit ## test, then the long soaks, fuzzing for a bounded time, audit

.PHONY: soak
soak: ## the tests that take minutes
	$(CARGO) test -p folkmoot-server --locked --test e2e soak -- --ignored

fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: tools
tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
	@command -v chromium >/dev/null 2>&1 || $(MAKE) --no-print-directory browser

# Some tests use a real browser. Where it cannot be installed they say that they were passed over.
.PHONY: browser
browser:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
		(apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null \
			|| echo "chromium could not be installed; tests that need a browser are passed over" >&2; \
	else echo "there is no chromium; tests that need a browser are passed over" >&2; fi

fuzz: ## fuzz the wire types for FUZZ_SECONDS (20) each
	@if [ -x fuzz/run.sh ]; then ./fuzz/run.sh $(FUZZ_SECONDS); else echo "there is nothing to fuzz yet"; fi

openapi: ## write docs/openapi.json again after a change of the REST surface
	$(CARGO) run -q -p folkmoot-server -- openapi > docs/openapi.json.new
	mv docs/openapi.json.new docs/openapi.json

bench: ## measure the release build against a bare server and a public peer; writes bench/RESULTS.md
	$(CARGO) build --release --locked -p folkmoot-server
	$(CARGO) run --release --locked -p folkmoot-bench -- run
	$(CARGO) bench --locked -p folkmoot-engines --bench lines
	$(CARGO) bench --locked -p folkmoot-server --bench pools

web: ## the page; it comes later
	@echo "the page is not built yet; the hub is used over /ws, /v1 and the command line until then"

audit: ## licences, advisories, sources and bans of all dependencies
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny@^$(CARGO_DENY)
	$(CARGO) deny --locked check licenses bans sources
	@if $(CARGO) deny fetch db; then $(CARGO) deny --locked check advisories; \
	else echo "warning: the advisory database cannot be reached; advisories were NOT checked" >&2; fi
