"""Where an id comes from: records, source files, runs, redactions."""
