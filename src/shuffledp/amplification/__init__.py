"""One round of messages: a mechanism among n users behind a shuffler, every analysis of it."""
