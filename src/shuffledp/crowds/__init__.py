"""Crowds of several mechanisms: bounds for a member of one group among others of all groups.

Theorems and proofs: docs/theory-crowds.md.
"""
