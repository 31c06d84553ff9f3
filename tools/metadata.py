"""The package's long description and addresses, which its build asks for: see pyproject.toml."""

from __future__ import annotations

import sys
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Addresses(MetadataHookInterface):
    """README.md without links that lead nowhere, and where the project is, if it is anywhere."""

    def update(self, metadata: dict) -> None:
        """Fill in what is dynamic."""
        sys.path.insert(0, self.root)
        try:
            from tools.long_description import long_description
        finally:
            sys.path.remove(self.root)
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page, picture = self.config.get("page", ""), self.config.get("picture", "")
        text = long_description(readme, page=page, picture=picture)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        home = self.config.get("home", "")
        urls = {"Homepage": home} if home else {}
        if page:
            urls["Documentation"] = page.replace("{path}", "docs/tutorial.md")
            urls["Changelog"] = page.replace("{path}", "CHANGELOG.md")
        metadata["urls"] = urls
