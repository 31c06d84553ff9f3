"""Proposals in plain floats, without an error term: they decide width and time, and no truth."""
