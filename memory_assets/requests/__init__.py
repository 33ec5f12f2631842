"""What can be asked: the arguments of each question with their limits, declared once for the
library, the command line, MCP and HTTP.

Belongs here: dataclasses of arguments, and what reads and checks them. Does not: answering
(`recall/`), a wire's format (`serving/`, `cli/`). A cold search loads this package, so it
imports the standard library alone.
"""
