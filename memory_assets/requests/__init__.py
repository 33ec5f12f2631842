"""The arguments of each question with their limits, declared once for the library, the command
line, MCP and HTTP.

Belongs here: dataclasses of arguments, and parsing and checking them. Does not: answering
(`recall/`), formats of an interface (`serving/`, `cli/`). A cold search loads this package, so it
imports the standard library alone.
"""
