"""Few users, few inputs and outputs: the divergence of every data set, both ends.

Theorem and proof: docs/theory.md, section 3.6.
"""
