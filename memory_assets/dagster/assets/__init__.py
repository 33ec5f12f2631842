"""The assets of the graph. Each calls one stage of `pipeline/`; ARCHITECTURE.md lists which."""
