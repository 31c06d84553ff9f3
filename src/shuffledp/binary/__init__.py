"""Reports of one bit: the divergence itself, the largest over all data sets, both ends.

Theorems and proofs: docs/theory-binary.md.
"""
