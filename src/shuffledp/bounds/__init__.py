"""From a law, n, eps and proposals to a certified log delta, and back from delta to eps."""
