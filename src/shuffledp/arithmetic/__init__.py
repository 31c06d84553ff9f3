"""Numbers that carry their own error: balls (Arb)."""
