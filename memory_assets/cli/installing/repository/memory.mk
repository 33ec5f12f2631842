# Written by `memory init-workspace`, which keeps it up to date. In a Makefile: include memory.mk
# Indexes and searches this repository with memory-assets, which is installed when it is needed.
#
#   make vector-index [ROOT=DIR]    index what changed
#   make vector-watch [ROOT=DIR]    keep it indexed until Ctrl-C
#   make vector-stats               list the workspaces with their documents and chunks
#   make vector-search Q="..."      search them
MEMORY_PACKAGE ?= memory-assets==@VERSION@
MEMORY_HOME ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/memory_assets/$(subst /,-,$(MEMORY_PACKAGE))
MEMORY ?= $(MEMORY_HOME)/bin/memory
ROOT ?= .

.PHONY: vector-index vector-watch vector-stats vector-search

$(MEMORY_HOME)/bin/memory:
	python3 -m venv '$(MEMORY_HOME)'
	'$(MEMORY_HOME)/bin/python' -m pip install --quiet '$(MEMORY_PACKAGE)'

vector-index: $(MEMORY)
	@'$(MEMORY)' index "$(ROOT)"

vector-watch: $(MEMORY)
	@'$(MEMORY)' index "$(ROOT)" --watch

vector-stats: $(MEMORY)
	@'$(MEMORY)' workspaces

# From the environment, where quotes and dollar signs are only that.
vector-search: override export Q := $(value Q)
vector-search: $(MEMORY)
	@'$(MEMORY)' search --in workspace "$$Q"
