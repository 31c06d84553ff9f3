"""One script a paper: its figures and tables once more, with ours added (docs/papers.md)."""
