"""The MCP server, the HTTP API and the pages for people: thin adapters over `recall/`.

Belongs here: tools and routes with their schemas, framing and paging of answers, access checks.
Does not: searching (`recall/`), printing (`cli/`). Modules are imported when a server starts, and
`recall` with the first question, so that a client does not wait.
"""
