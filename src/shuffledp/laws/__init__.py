"""Laws of the mechanisms under their inputs, as the pairs that `bounds` evaluates."""
