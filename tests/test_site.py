"""The site: all pages in its contents, and all public names in its reference."""

from tools import build_docs as site


def test_contents_name_every_page():
    pages = site.written()
    named = {page for group in site.CONTENTS.values() for page in group}
    assert set(site.copied()) <= named <= {*pages, *site.copied()}
    trees = "".join(pages[page] for page in ("reference/index", "mechanisms/index"))
    for page in set(pages) - named - {"index"}:
        assert f"/{page}\n" in trees, page
