"""Statistics: sums of reports, estimates made of them, and limits of what they estimate."""
