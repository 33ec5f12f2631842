"""Readers of agents whose format takes one module each; larger ones have packages beside this."""
