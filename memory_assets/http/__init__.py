"""What a request over HTTP is made of: host and token of one that comes in, requests to other
servers and to models, and the facts of one to a model.

Belongs here: what servers, stores and engines share. Does not: our own servers (`serving/`).
"""
