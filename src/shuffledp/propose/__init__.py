"""Proposals in plain floats, without error terms: they decide width and time, never validity."""
