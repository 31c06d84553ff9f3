"""Values: how they are written, copied, shown, and what is remembered beside them."""
