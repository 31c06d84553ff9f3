"""Reports: what they say is the certificate's, whatever the deployment file's texts are."""

import base64
import functools
import hashlib
import json
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest

from frontend.parts import of_round, situations
from shuffledp.certificate import issue, to_json
from shuffledp.deployment import Curve, Deployment, DeploymentFile, account
from shuffledp.deployment.files import parse
from shuffledp.deployment.setting import settings_of
from shuffledp.plots import account_figure, svg
from shuffledp.review import Entry, cautions, report, to_html, to_markdown

pytestmark = pytest.mark.usefixtures("rough_proposals")

TABLE = {
    "title": "A test",
    "population": {"users": 400, "minimum_batch": 100, "dropout": 0.1, "colluding": 0.1},
    "randomizer": {"name": "k-rr", "k": 5, "eps0": 1.0},
    "target": {"delta": 1e-4},
}
HOSTILE = (
    "<script>alert(1)</script><img src=https://example.org/x onerror=x> ]]> --> & \"' </style>"
    " [a](https://example.org) ![b](c) `d` |e| *f* _g_ # h <https://example.org> www.example.org"
    " a@example.org $x$ \u202e\u2066\x1b[31m\x00 \\"
)
VOID = {"meta", "link", "br", "img", "input", "hr", "line", "rect", "circle", "path"}


def changed(**tables):
    table = json.loads(json.dumps(TABLE))
    for key, value in tables.items():
        table[key] = {**table[key], **value} if isinstance(table.get(key), dict) else value
    return table


def certified(table=None):
    deployment = parse(table or TABLE, where="t.toml")
    # A title changes no number: one account for all titles.
    plain = deployment.model_copy(update={"title": "t"})
    found = replace(accounted(plain.model_dump_json()), deployment=deployment)
    return issue(DeploymentFile(Path("t.toml"), "a" * 64, deployment), found)


@functools.cache
def accounted(content):
    return account(Deployment.model_validate_json(content))


def drawn(certificate):
    """The figure, with fewer points."""
    plain = certificate.deployment.content.model_copy(update={"title": "t"})
    source = certificate.deployment.model_copy(update={"content": plain})
    plainly = certificate.model_copy(update={"deployment": source})
    return svg(account_figure(plainly, points(plain.model_dump_json()), label="k-rr"))


@functools.cache
def points(content):
    deployment = Deployment.model_validate_json(content)
    ns = (20, 36, 90, 324, 1000)
    of = next(settings_of(deployment)).accounted(rtol=1e-2).seen.among
    target = deployment.target
    bounds = tuple(of(n).bound(target.quantity, target.value) for n in ns)
    return Curve(ns, bounds)


def entry(table=None, *, curve=True, **more):
    certificate = certified(table)
    text = to_json(certificate)
    return Entry(
        certificate=certificate,
        certificate_file="t.certificate.json",
        certificate_sha256=hashlib.sha256(text.encode()).hexdigest(),
        labels=["k-rr, k = 5, eps0 = 1"],
        cautions=cautions(certificate),
        drawing=drawn(certificate) if curve else None,
        **more,
    )


@pytest.fixture(scope="module")
def one():
    return entry()


class Page(HTMLParser):
    """Every element closed in order; texts and attributes kept."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.words, self.ids = [], [], [], [], []
        self.tables = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for key, value in attrs if key == "id"]
        assert len({key for key, _ in attrs}) == len(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in VOID
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)
            if self.open and {"td", "th"} & set(self.open):
                self.tables[-1][-1][-1] += data

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def test_html_is_well_formed_and_loads_nothing(one):
    text = to_html(report(one, date="2026-11-22"))
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "embed", "form", "base", "svg"} & set(
        page.tags
    )
    # But for the pictures, which are inside.
    bare = re.sub(r'src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]*"', "", text)
    assert not re.search(r"https?:|//|javascript:|@import|url\(|src=", bare.lower())
    for tag, key, _ in page.attributes:
        assert not key.startswith("on")
        assert key not in {"srcset", "style", "action", "ping", "href", "xlink:href"}
        assert key != "src" or tag == "img"
    policy = next(v for tag, key, v in page.attributes if key == "content" and "default-src" in v)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def test_texts_of_the_file_stay_texts():
    hostile = entry(changed(title=HOSTILE))
    hostile = replace(hostile, certificate_file=HOSTILE, labels=[HOSTILE], picture=HOSTILE)
    plain = entry()
    document = report(hostile, date=HOSTILE)
    page, other = Page(to_html(document)), Page(to_html(report(plain, date="")))
    assert page.tags == other.tags
    assert {a[:2] for a in page.attributes} == {a[:2] for a in other.attributes}
    for character in "\u202e\u2066\x1b\x00":
        assert character not in to_html(document)
        assert character not in to_markdown(document)
    assert "[U+202E][U+2066][U+001B][31m[U+0000]" in page.text


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        pytest.param(changed(target={"delta": None, "epsilon": 0.7}), marks=pytest.mark.long),
        changed(randomizer={"name": "generic", "k": None, "adaptive": True}),
    ],
    ids=["epsilon", "delta", "family"],
)
def test_every_number_of_the_table_is_the_certificates(table):
    for part in table.values():
        if isinstance(part, dict):
            for key in [key for key, value in part.items() if value is None]:
                del part[key]
    made = entry(table)
    page = Page(to_html(report(made, date="2026-11-22")))
    content = json.loads(to_json(made.certificate))
    rows = {row[0]: row for row in page.tables[0][1:]}
    assert len(rows) == 3
    head = page.tables[0][0]
    for k, name in enumerate(situations(content)):
        row, found = rows[name], of_round(content, k)
        uppers = [claim for claim in found if claim["end"] == "upper"]
        (lower,) = [claim for claim in found if claim["end"] == "lower"]
        assert row[1] == f"{lower['n']:,}"
        digits = 6 if lower["quantity"] == "epsilon" else 4
        pairs = [(row[2], lower, False), (row[3], uppers[0], True)]
        if head[4].startswith("published"):
            pairs.append((row[4], uppers[-1], True))
        for shown, claim, up in pairs:
            outside = Fraction(Decimal(shown)) - Fraction(claim["value"])
            assert outside >= 0 if up else outside <= 0
            assert abs(outside) <= Fraction(claim["value"]) * 10 ** (1 - digits)
        assert row[-1] == uppers[0]["theorem"][0].removesuffix("-family")
