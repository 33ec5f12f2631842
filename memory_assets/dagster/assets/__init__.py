"""The assets, one module each step of the graph; each calls one stage of `pipeline/`."""
