"""The words of a report, for who does not know them."""

from __future__ import annotations

TERMS: tuple[tuple[str, str], ...] = (
    (
        "differential privacy, (eps, delta)",
        (
            "The probability of anything that is concluded from what is released, when a user's "
            "data is what it is, is at most e^eps times the probability when it is something "
            "else, plus delta; for every two datasets that are neighbours, in both directions."
        ),
    ),
    (
        "eps",
        (
            "How much the release may say about one user's data: by e^eps the odds can change. 0 "
            "says nothing; smaller is more private."
        ),
    ),
    (
        "delta",
        (
            "The probability that is left out of the promise of eps. It should be far below 1 "
            "over the number of users: a delta of 1/n would allow to publish one user's data at "
            "random."
        ),
    ),
    (
        "nats",
        ("The unit of eps: its exponential is the factor. 0.69 nats are a factor of 2."),
    ),
    (
        "odds",
        (
            "Of a guess which of two values a user has, between which there was nothing to choose "
            "before: 1 to 1 is a coin, 3 to 1 is right three times in four."
        ),
    ),
    (
        "neighbouring datasets",
        (
            "Two datasets between which the promise is that they can hardly be told apart. In "
            "which way one user's data may differ in them stands in the report."
        ),
    ),
    (
        "LDP, eps0, local guarantee",
        (
            "Local differential privacy: each user's device adds noise before anything is sent, "
            "so that a report alone gives away at most eps0, whoever sees it with its sender's "
            "name."
        ),
    ),
    (
        "mechanism, randomizer",
        ("What a user's device does to a value before it is sent."),
    ),
    (
        "shuffler",
        (
            "Who collects the messages and passes them on in random order without senders. The "
            "central eps, that of the shuffled messages, is at most eps0, and smaller as messages "
            "hide each other."
        ),
    ),
    (
        "n honest",
        (
            "Messages among which a user's message is hidden: those that arrive, without those "
            "whose senders tell the analyst."
        ),
    ),
    (
        "now, minimum batch, shuffler (aggregator) fails",
        (
            "The deployment as it is declared; the smallest batch that is released; and what is "
            "left if messages or reports are seen with their senders."
        ),
    ),
    (
        "upper and lower end",
        (
            "The upper end is what may be promised. The lower end is what no analysis can get "
            "below: two neighbouring datasets are known that lose as much. The truth lies between "
            "the two."
        ),
    ),
    (
        "published, proved here",
        (
            "Whether every step of a theorem is in the literature, or one is proved in the "
            "project's own pages (docs/theory.md) only."
        ),
    ),
    (
        "blanket",
        (
            "A theorem: the part of a message that does not depend on the value, the same for all "
            "users, hides the others' (Balle, Bell, Gascón and Nissim 2019)."
        ),
    ),
    (
        "clone, stronger clone",
        (
            "Theorems for any mechanism of a given eps0: with some probability another user's "
            "message looks like the victim's (Feldman, McMillan and Talwar 2021, 2023)."
        ),
    ),
    (
        "label stealing",
        (
            "A theorem proved in docs/theory-stealing.md, sharper than the blanket's: for most "
            "mechanisms its upper end nearly meets the lower one."
        ),
    ),
    (
        "local, basic composition",
        ("Bounds without a shuffler, and the sum of the rounds' losses: what always holds."),
    ),
    (
        "certificate, verifier",
        (
            "The file with every claim of this report, and the program (shuffledp verify) that "
            "recomputes its numbers from the mechanism's definition in ball arithmetic, with more "
            "bits and finer cells than before. Theorems are cited, not proved again."
        ),
    ),
    (
        "sha256",
        ("A fingerprint of a file: another content has another one."),
    ),
)
