"""Sums of reports, where the analyst sees these in place of all messages."""
