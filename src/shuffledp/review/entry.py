"""One deployment of a report, with all that is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp.certificate.checks import Checks
from shuffledp.review.cautions import Caution


@dataclass(frozen=True)
class Entry:
    """One deployment of a report.

    Attributes
    ----------
    certificate : Certificate
        What is claimed.
    certificate_file : str
        The name of its file.
    certificate_sha256 : str
        Of that file.
    labels : sequence of str
        The mechanism in a few words; of a crowd one for each group.
    cautions : sequence of Caution
        What there is to warn of.
    silenced : sequence of str
        Warnings that were switched off.
    drawing : bytes, optional
        The figure, as SVG.
    picture : str, optional
        Where the figure lies as a file of its own, seen from the report.
    verified : Checks, optional
        What the verifier said, if it was asked.
    """

    certificate: Any
    certificate_file: str
    certificate_sha256: str
    labels: Sequence[str]
    cautions: Sequence[Caution] = ()
    silenced: Sequence[str] = ()
    drawing: bytes | None = None
    picture: str | None = None
    verified: Checks | None = None

    @property
    def title(self) -> str:
        """The title of the deployment file, which may say anything."""
        return self.certificate.deployment.content.title

    @property
    def label(self) -> str:
        """All mechanisms."""
        return joined(self.labels)


def joined(labels: Sequence[str]) -> str:
    """Each group's mechanism in a few words, in one line."""
    if len(labels) == 1:
        return labels[0]
    return "; ".join(f"group {k}: {label}" for k, label in enumerate(labels))
