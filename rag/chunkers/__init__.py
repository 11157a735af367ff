"""Chunkers: one a file, found by its name."""
