"""Routers: one a file, found by its name; none is built in yet."""
