"""The mechanisms' laws in balls, each made once from its published definition.

A mechanism's record (`record.Record`) has its law, its worst pairs of inputs and the theorems that
name them; `bounds` certifies numbers from it, and `certificate` checks claims by it.
"""
