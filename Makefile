# Every target that CI calls is here; `make` alone prints this help.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
DISTS  := contracts runtime models store embedding retriever reranker chatqna dataprep cli
EDITABLE := $(foreach d,$(DISTS),-e services/$(d))

.DEFAULT_GOAL := help
.PHONY: help setup models demo test lint types imports unit e2e bench lock generate clean

help: ## Print this help
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(BIN)/.installed: requirements/dev.lock $(wildcard services/*/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(EDITABLE)
	touch $@

setup: $(BIN)/.installed ## Install everything into .venv from the hash-locked requirements

lock: ## Renew requirements/*.lock; takes only releases that are at least 14 days old
	for name in runtime dev bench; do uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 --exclude-newer "14 days" --custom-compile-command "make lock" \
	  requirements/$$name.in -o requirements/$$name.lock || exit 1; done
