"""Generators: one a file, found by its name. A generator writes an answer from what is shown, citing its pieces.

Whether its citations hold is not its own business: `rag.claims` checks them, and removes what is not supported.
"""
