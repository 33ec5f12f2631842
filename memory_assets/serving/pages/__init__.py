"""The pages of `memory serve`: what is in memory, for people, rendered on the server.

Belongs here: routes, templates, the stylesheet and the script, signing in. Does not: choosing what
an answer holds (`recall/`), the API (`http_api.py`). A page loads nothing from elsewhere and has
neither script nor style in it; text of a transcript is escaped by the templates, always.
"""
