"""A third party's components for Touchstone."""
