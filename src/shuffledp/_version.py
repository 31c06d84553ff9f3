"""The version, below all: a certificate says it, and the package's root imports what makes them."""

__version__ = "0.1.0"
