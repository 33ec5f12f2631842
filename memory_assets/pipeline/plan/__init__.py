"""Which projects have work to do, and why: for command line, sensor and watcher.

Belongs here: comparing files, products and code versions; adopting an archive whose
catalogue was lost. Does not: doing the work.
"""
