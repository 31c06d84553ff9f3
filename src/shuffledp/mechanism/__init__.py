"""Mechanism: what randomizers and protocols have in common, their parameters as declared."""
