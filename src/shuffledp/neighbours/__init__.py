"""Neighbouring relations: what one user may change, as values.

A guarantee is about two datasets that differ in one user's data. How the two may differ is a value
of every mechanism; what is made of mechanisms derives its own from theirs, and every bound says the
one it holds for. Equal relations are equal values; ``to_dict`` is their stable form in files.
"""
