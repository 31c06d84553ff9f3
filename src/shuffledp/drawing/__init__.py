"""What all pictures are drawn with: lines and bands on axes, and fonts that have the letters."""
