# Every chore of this repository. `make` alone lists them.
#
# The tests, the checks against real servers and the lint use the dev profile (dependencies slightly
# optimised, see Cargo.toml); `make demo`, `make bench`, `make build` and `make container` use the release profile.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

# The binary contains the dashboard if its files were built (`make dashboard`).
DASHBOARD = $(shell scripts/dashboard-feature)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## Build the release binary: target/release/manometer
	$(CARGO) build --release --locked --package manometer $(DASHBOARD)

.PHONY: dashboard
dashboard: ## Build the dashboard's files, which every later build contains; needs Node.js 18 and npm
	scripts/dashboard

.PHONY: demo
demo: build ## Check a simulated array, run a small experiment, leave an HTML report
	scripts/demo

.PHONY: test
test: ## Every test that needs no root and no server from outside
	$(CARGO) xtask test --locked --workspace $(DASHBOARD)
	PYTHONPATH=tests/real python3 -B -m unittest discover --quiet --start-directory tests/real
	interop/run.sh python

.PHONY: test-kills
test-kills: ## Kill checks and runs 1000 times at random moments and clean up after each (KILLS=N, SEED=N)
	tests/kills/run.sh $(or $(KILLS),1000) $(or $(SEED),1)

.PHONY: test-hostile
test-hostile: ## Measure a load of the service alone and beside hostile clients (ROUNDS=N; 14 minutes, on an idle machine)
	tests/hostile/run.sh $(or $(ROUNDS),60)

.PHONY: test-real
test-real: ## Check against real servers and a real browser; installs them from Debian, Go proxy, npm, PyPI; needs root
	tests/real/run.sh
	tests/browser/run.sh

.PHONY: test-kubernetes
test-kubernetes: ## Run fleets of pods over a real Kubernetes, built from the Go proxy (5 minutes); needs root
	tests/kubernetes/run.sh

.PHONY: bench
bench: ## Compare with peers side by side: ratios, spread, goals
	bench/run

.PHONY: lint
lint: lint-text ## Formatting, clippy, the repository's own rules; with npm, the dashboard's types, lint and unit tests
	$(CARGO) clippy --locked --workspace --all-targets $(DASHBOARD) -- -D warnings

.PHONY: lint-text
lint-text: ## The same without clippy
	$(CARGO) fmt --all --check
	$(CARGO) xtask tidy
	if command -v npm >/dev/null; then scripts/dashboard --check; else echo 'lint: npm is missing, so dashboard/ is not checked'; fi

.PHONY: fmt
fmt: ## Format all Rust code
	$(CARGO) fmt --all

.PHONY: container
container: ## Build a self-contained binary and try it in an empty root directory
	scripts/container

.PHONY: test-image
test-image: container ## Build the image with buildah, run it and fleets of it with podman; installs them from Debian; needs root
	tests/image/run.sh "$${CARGO_TARGET_DIR:-target}/container"

.PHONY: package
package: ## Build a tarball, a .deb and a .rpm, and try each in an empty root directory (needs dpkg and rpmbuild)
	scripts/package

.PHONY: test-install
test-install: package ## Install each package into a minimal Debian 12, try it there, remove it; needs root and mmdebstrap
	tests/install/run.sh "$${CARGO_TARGET_DIR:-target}/packages"

.PHONY: clean-state
clean-state: build ## Remove what killed runs left on arrays (manometer cleanup)
	target/release/manometer cleanup
