"""The page's server: right answers, this computer alone, and nothing that stops it."""

import http.client
import json
import multiprocessing
import shlex
import signal
import subprocess
import sys
import threading
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.page.server import PageServer

KRR = {"mechanism": "k-rr", "k": "10", "eps0": "4", "n": "1e4", "delta": "1e-6"}


def serving():
    server = PageServer(0)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


@pytest.fixture(scope="module")
def server():
    found = serving()
    yield found
    found.shutdown()
    found.server_close()
    assert not multiprocessing.active_children()


def get(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply.status, reply, content


def ask(server, kind, fields):
    status, _, content = get(server, f"/api/{kind}?{urlencode(fields)}")
    return status, json.loads(content)


# ------------------------------------------------------------------------------------- answers


ASKED = [
    KRR,
    KRR | {"trust": "published"},
    KRR | {"analysis": "stronger-clone"},
    {"mechanism": "duchi", "eps0": "0.5", "low": "-2", "n": "50", "delta": "1e-2"},
    {"mechanism": "generic", "eps0": "1", "adaptive": "1", "n": "1000", "delta": "1e-6"},
    {"mechanism": "pure-dump", "d": "20", "blankets": "7", "n": "1000", "delta": "1e-6"},
    {
        "mechanism": "parallel",
        "randomizers": '[{"name": "k-rr", "k": 4, "eps0": 1.0}, {"name": "duchi", "eps0": 0.5}]',
        "weights": "0.5,0.5",
        "n": "1000",
        "delta": "1e-6",
    },
    {"mechanism": "binary-rr", "eps0": "0.5", "n": "10", "delta": "1e-2", "rounds": "2"},
]


@pytest.mark.many(4)
@pytest.mark.parametrize("fields", ASKED, ids=lambda fields: " ".join(fields.values())[:40])
def test_an_answer_is_what_the_command_line_prints(server, fields):
    status, body = ask(server, "epsilon", fields)
    assert status == 200, body
    words = shlex.split(body["command"])
    assert words[0] == "shuffledp"
    printed = CliRunner().invoke(main, words[1:])
    assert printed.exit_code == 0, printed.output
    assert printed.stdout == body["text"] + "\n"
    assert body["text"].startswith(f"{body['lower']} <= eps <= {body['upper']} nats ")


SMALL = {"mechanism": "binary-rr", "eps0": "1", "n": "100", "delta": "1e-2"}


@pytest.mark.parametrize(
    "fields",
    [
        SMALL | {"trust": "published"},
        pytest.param(SMALL | {"rounds": "3"}, marks=pytest.mark.long),
    ],
)
def test_the_report_and_the_certificate_are_account_s(server, tmp_path, monkeypatch, fields):
    monkeypatch.chdir(tmp_path)
    text = ask(server, "deployment", fields)[1]["toml"]
    (tmp_path / "deployment.toml").write_text(text)
    words = ["account", "deployment.toml", "--json", "--report", "report.html"]
    written = CliRunner().invoke(main, words)
    assert written.exit_code == 0, written.output
    status, body = ask(server, "report", fields)
    assert status == 200, body
    assert body["html"] == (tmp_path / "report.html").read_text(encoding="utf-8")
    assert json.loads(body["certificate"]) == json.loads(written.stdout)
    claims = [
        claim
        for claim in json.loads(body["certificate"])["claims"]
        if (claim["situation"], claim["end"]) == ("now", "upper")
    ]
    upper = max(claims, key=lambda claim: claim["rounds"])["value"]
    assert float(body["said"].split(" <= ")[1].split()[0]) >= upper
    assert ("after 3 rounds" in body["said"]) is ("rounds" in fields)


# --------------------------------------------------------------------------- who may ask for what


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/", "/page.js", "/api/mechanisms", "/api/epsilon"])
def test_other_hosts_and_origins_are_refused(server, headers, path):
    filled = {key: value.format(port=server.port) for key, value in headers.items()}
    status, reply, content = get(server, path, **filled)
    assert status == 403
    assert set(json.loads(content)) == {"error"}
    assert "Access-Control-Allow-Origin" not in reply.headers


def test_files_are_never_opened(server, tmp_path):
    (tmp_path / "matrix.json").write_text("[[0.5, 0.5], [0.5, 0.5]]")
    (tmp_path / "tables.json").write_text('[{"name": "k-rr", "k": 4, "eps0": 1.0}]')
    for mechanism, key in (("channel", "matrix"), ("joint", "randomizers")):
        path = str(tmp_path / ("matrix.json" if key == "matrix" else "tables.json"))
        fields = {"mechanism": mechanism, key: path, "n": "10", "delta": "1e-3"}
        status, body = ask(server, "epsilon", fields)
        assert status == 400
        assert body["error"].startswith(f"{key} = ")
    for path in ("/../server.py", "/files/index.html", "/%2e%2e/server.py", "/index.html"):
        assert get(server, path)[0] == 404


# ----------------------------------------------------------------------------------- the command


# A shell starts programs in the background with interrupts ignored, and children inherit that.
INTERRUPTED = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from shuffledp.cli import main; main()"
)


def test_the_command_says_where_it_is_and_ends_with_its_processes():
    words = [sys.executable, "-c", INTERRUPTED, "page", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as started:
        try:
            line = started.stderr.readline()
            assert line.startswith("shuffledp: http://127.0.0.1:")
            port = int(line.split(":")[3].split("/")[0])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/")
            assert b"<title>shuffledp" in connection.getresponse().read()
            connection.close()
            started.send_signal(signal.SIGINT)
            _, rest = started.communicate(timeout=60)
        finally:
            started.kill()
    assert started.returncode == 130
    assert rest == "shuffledp: interrupted\n"
