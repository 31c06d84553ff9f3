"""Numbers with rigorous error bounds: balls (Arb), and the float types of proposals."""
