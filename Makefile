# Two commands set everything up on a machine with Python 3.11+, make and git:
#   make ingest    build the environment, take in your agents' transcripts, report
#   make test      run the tests
#
# The documents and code of a workspace, by default this directory (docs/workspace.md):
#   make vector-index [ROOT=DIR]    index what changed
#   make vector-watch [ROOT=DIR]    keep it indexed until Ctrl-C
#   make vector-stats               list the workspaces with their documents and chunks
#   make vector-search Q="..."      search them
#
# Kong before models (docs/gateway.md), the open-source gateway or, with KONG=kong-ai, the AI gateway:
#   make kong-up, kong-logs, kong-routes
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
AXE := node_modules/axe-core/axe.min.js
ROOT ?= .
KONG ?= kong
KONG_COMPOSE = docker compose --file deploy/kong/compose.yml --profile $(KONG)

.PHONY: ingest vector-index vector-watch vector-stats vector-search kong-up kong-logs kong-routes test test-long test-deployment dev check bench reference pictures lock clean

ingest: $(READY)
	@$(BIN)/memory ingest

vector-index: $(READY)
	@$(BIN)/memory index "$(ROOT)"

vector-watch: $(READY)
	@$(BIN)/memory index "$(ROOT)" --watch

vector-stats: $(READY)
	@$(BIN)/memory workspaces

# From the environment, where quotes and dollar signs are only that.
vector-search: override export Q := $(value Q)
vector-search: $(READY)
	@$(BIN)/memory search --in workspace "$$Q"

kong-up:
	@$(KONG_COMPOSE) up --detach --wait

kong-logs:
	@$(KONG_COMPOSE) logs --follow

kong-routes:
	@curl --silent --show-error --fail http://127.0.0.1:8001/routes | $(PYTHON) -m json.tool

# The tests start many processes: what one of them compiles, the next need not.
test: export PYTHONDONTWRITEBYTECODE :=
# Four at a time on two cores, because the live tests wait for others most of the time.
test: $(READY_DEV) $(AXE)
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

# What is left out of the former: what takes half a minute a test, and rows of which it runs the most
# telling; and property tests on examples that are new each time.
test-long: $(READY_DEV)
	$(BIN)/python -m pytest -m long
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=seeking

# Agents' memory behind chroma-mcp, the processes of deploy/compose.yaml, and LiteLLM before a model;
# builds their environments once.
test-deployment: $(READY_DEV)
	$(BIN)/python -m pytest -o timeout=1800 -m "long or not long" \
	  memory_assets_tests/agent_memory/test_stores.py \
	  memory_assets_tests/agent_memory/test_chroma_mcp_faults.py \
	  memory_assets_tests/agent_memory/test_compose.py \
	  memory_assets_tests/agent_memory/test_deployment.py \
	  memory_assets_tests/dagster/test_tenants.py \
	  memory_assets_tests/deploy/test_scale_processes.py \
	  memory_assets_tests/embedding/test_litellm.py

dev: $(READY)
	@$(BIN)/memory dev

check: $(READY_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Figures with their commands are kept in docs/benchmarks.md.
bench: $(READY_DEV)
	$(BIN)/python benchmarks/ingest.py
	$(BIN)/python benchmarks/redaction.py
	$(BIN)/python benchmarks/chunking.py

# The references of the command line, from its own help texts, and of the tables, from the models of
# their rows; tests compare them.
reference: $(READY_DEV)
	$(BIN)/python -m memory_assets_tests.cli.commands_reference > docs/commands.md
	$(BIN)/python -m memory_assets_tests.stores.tables_reference > docs/tables.md

# The pictures in README, of the page and of Dagster's UI over the sample; needs Chromium.
pictures: $(READY_DEV)
	$(BIN)/python benchmarks/pictures.py docs/pictures

# Pin what was tested: every platform's wheels, with their hashes; what running needs, that and the
# developers' tools, and what installs them.
PIN = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-strip-extras \
  --no-emit-index-url --no-header --no-annotate --quiet
lock: $(READY_DEV)
	$(PIN) --upgrade pyproject.toml --extra dev --output-file requirements-dev.lock
	cp requirements-dev.lock requirements.lock
	$(PIN) pyproject.toml --output-file requirements.lock
	echo uv | $(PIN) --upgrade - --output-file requirements-uv.lock

# The environment and caches; never the memory in data/.
clean:
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info

# What checks pages for accessibility; where npm cannot bring it, its test is skipped.
$(AXE):
	@npm install --prefix . --no-save --ignore-scripts --no-audit --no-fund --fetch-retries=0 \
	  --loglevel=error axe-core@4.14.0 || echo "No axe-core: pages are not checked for accessibility."

# By uv, without its list of all packages, or where its index cannot be reached (it does not read
# pip's settings) by pip. Arguments: what is installed.
INSTALL = ( { $(BIN)/uv pip install --python $(BIN)/python $(1) 2>&1 || touch .venv/.failed; } | \
  grep -v '^ [-+~] '; ! rm .venv/.failed 2>/dev/null ) || \
  $(BIN)/python -m pip install --disable-pip-version-check $(1)

$(READY): requirements.lock requirements-uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; say which with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Building the environment in .venv, once: 150 packages, some 300 MB to download, 1.2 GB on disk;"
	@echo "half a minute on a fast line, several on a slow one."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-uv.lock || true
	@$(call INSTALL,--require-hashes --requirement requirements.lock)
	@$(call INSTALL,--quiet --no-deps --editable .)
	@touch $@

# What tests and checks need besides.
$(READY_DEV): $(READY) requirements-dev.lock
	@echo "Adding the developers' tools: 40 packages, 90 MB to download, 290 MB on disk."
	@$(call INSTALL,--require-hashes --requirement requirements-dev.lock)
	@touch $@
