"""Claims of a certificate's JSON, by situation."""


def of_round(content, situation, group=0):
    """Claims of one round in a situation, by its place."""
    return [c for c in _claims(content, situation, group) if c["rounds"] == 1]


def of_rounds(content, situation, group=0):
    """The same of all rounds."""
    return [c for c in _claims(content, situation, group) if c["rounds"] > 1]


def situations(content, group=0):
    """Their names, in order."""
    return list(dict.fromkeys(c["situation"] for c in content["claims"] if c["group"] == group))


def _claims(content, situation, group):
    name = situations(content, group)[situation]
    return [c for c in content["claims"] if (c["group"], c["situation"]) == (group, name)]
