"""Groups of users with their own mechanisms behind one shuffler.

``crowd`` is what is seen of them, ``member`` what is certified of one group's members.
"""
