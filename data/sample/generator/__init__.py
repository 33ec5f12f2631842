"""Writes the sample sessions that ship with the project.

Here: builders of each agent's record shapes, the stories, and the parts of the planted
secrets. Not here: anything that reads transcripts; the project's own readers do that,
and the tests compare what they find with `expected.json`.
"""
