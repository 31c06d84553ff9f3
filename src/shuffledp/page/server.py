"""The server of the page: this computer alone, a fixed list of addresses, nothing but GET.

It opens no file that a request names and runs nothing that a request holds: a request is fields
of a form, read in a process of `desk`. Requests that another site's page makes a browser send are
refused by their Host, Origin and Sec-Fetch-Site headers.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from shuffledp import _check
from shuffledp.errors import ParameterError, ShuffleDPError, unreadable
from shuffledp.page.desk import LIMITS, Desk
from shuffledp.page.form import catalogue

__all__ = ["DEFAULT_PORT", "PageServer", "serve"]

DEFAULT_PORT = 8765
_ADDRESS = "127.0.0.1"
_NAMES = ("127.0.0.1", "localhost")
_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_JSON = "application/json; charset=utf-8"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# A form with a matrix in it is some thousand characters.
_LONGEST_TARGET = 16_384
_MOST_FIELDS = 40
# Seconds in which a request has to be there.
_PATIENCE = 10.0
_CLIENT = re.compile(r"[0-9a-z]{0,32}")


class PageServer(ThreadingHTTPServer):
    """Serves the page on one port of this computer.

    Parameters
    ----------
    port : int
        0 takes any free one.
    limits : mapping, optional
        Seconds for a request of each kind.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, port: int, *, limits: Mapping[str, float] = LIMITS) -> None:
        self.desk = Desk(limits)
        super().__init__((_ADDRESS, port), _Handler)
        self.desk.open()
        self.port = int(self.server_address[1])
        self.hosts = {f"{name}:{self.port}" for name in _NAMES}
        if self.port == 80:
            self.hosts |= set(_NAMES)
        self.origins = {f"http://{host}" for host in self.hosts}
        self.pages = {path: _page(name, kind) for path, (name, kind) in _PAGES.items()}
        self.pages["/api/mechanisms"] = (json.dumps(catalogue()).encode(), _JSON)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_ADDRESS}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """One line for what is not a closed connection, and no traceback."""
        del request, client_address
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            sys.stderr.write(f"shuffledp: page: {type(error).__name__}: {error}\n")

    def server_close(self) -> None:
        """Close the port and end the processes."""
        super().server_close()
        self.desk.close()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = _PATIENCE
    server_version = "shuffledp"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer: a file of the list, or what is asked of the desk."""
        fault = self._fault()
        if fault is not None:
            self._refuse(*fault)
            return
        try:
            target = urlsplit(self.path)
        except ValueError:  # brackets without an address of IPv6 between them
            self._refuse(400, "wanted an address of this page")
            return
        if target.path in self.server.pages:
            content, kind = self.server.pages[target.path]
            self._send(200, content, kind)
            return
        kind = target.path.removeprefix("/api/")
        if target.path == kind or kind not in LIMITS:
            self._refuse(404, "no such address")
            return
        try:
            fields = _fields(target.query)
        except ShuffleDPError as error:
            self._refuse(400, str(error))
            return
        client = fields.pop("client", "")
        if not _CLIENT.fullmatch(client):
            self._refuse(400, "client: wanted at most 32 letters and digits")
            return
        status, body = self.server.desk.ask(kind, fields, client)
        self._send(status, json.dumps(body).encode(), _JSON)

    def _fault(self) -> tuple[int, str] | None:
        """Why this request is refused whatever it asks; None if it is not."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].strip().lower() not in self.server.hosts:
            return 403, f"Host: wanted {_ADDRESS}:{self.server.port}"
        for origin in self.headers.get_all("Origin", []):
            if origin.strip().lower() not in self.server.origins:
                return 403, "Origin: wanted none, or this page's own"
        path = self.path.partition("?")[0]
        # A link to the page may stand anywhere; what works has to be asked by the page itself.
        if path != "/" and self.headers.get("Sec-Fetch-Site", "none") not in {
            "same-origin",
            "none",
        }:
            return 403, "Sec-Fetch-Site: wanted a request of this page"
        if self.headers.get("Content-Length", "0").strip() != "0":
            return 413, "wanted no body"
        if self.headers.get("Transfer-Encoding") is not None:
            return 413, "wanted no body"
        if len(self.path) > _LONGEST_TARGET:
            return 414, f"wanted an address of at most {_LONGEST_TARGET:,} characters"
        return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses, in one line too; all of it is the request's fault."""
        del explain
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._refuse(405, "wanted GET")
            return
        words = " ".join((message or HTTPStatus(code).phrase).split())
        self._refuse(code if 400 <= code < 500 else 400, words)

    def _refuse(self, status: int, words: str) -> None:
        line = "".join(c if c.isprintable() else " " for c in words)[:300]
        self._send(status, json.dumps({"error": line}).encode(), _JSON)

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.close_connection = True
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(content)), **_HEADERS}
        if status == 405:
            headers["Allow"] = "GET"
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name it has there)
        """Nothing: what is asked here is nobody else's business."""


def _fields(query: str) -> dict[str, str]:
    """The fields of a form, each once."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=_MOST_FIELDS,
            errors="strict",
        )  # fmt: skip
    except ValueError:
        raise ParameterError(f"query: wanted at most {_MOST_FIELDS} fields, key=value") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ParameterError(f"{twice[:40]!r} is given twice: wanted each field once")
    return found


def _page(name: str, kind: str) -> tuple[bytes, str]:
    return (files("shuffledp.page") / "files" / name).read_bytes(), kind


def serve(port: int, *, announce: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Parameters
    ----------
    port : int
        0 to 65535; 0 takes any free one.
    announce : callable
        Told where the page is, once it is there.

    Raises
    ------
    ParameterError
        If the port is not one, or is taken.
    """
    port = _check.count("port", port, low=0, high=65_535)
    try:
        server = PageServer(port)
    except (OSError, socket.gaierror) as error:
        words = f"{unreadable(error)}; wanted a free port, or 0 for any"
        raise ParameterError(f"port = {port}: {words}") from None
    try:
        announce(server.url)
        server.serve_forever()
    finally:
        server.server_close()
