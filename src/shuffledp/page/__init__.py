"""``shuffledp page``: a calculator in the browser, served to this computer alone.

The server (`server`) knows nothing of numbers: processes of its own (`desk`) work out what was
asked (`form`, `work`) and are ended when they take too long or when nobody waits any more. What a
reader sees was written in Python, rounded outward; the page's script reformats no number.
"""
