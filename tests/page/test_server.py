"""The page's server: right answers, this computer alone, and nothing that stops it."""

import http.client
import json
import multiprocessing
import random
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner

import shuffledp as sd
from shuffledp.bound import outward
from shuffledp.cli import main
from shuffledp.page.desk import LIMITS
from shuffledp.page.server import PageServer

KRR = {"mechanism": "k-rr", "k": "10", "eps0": "4", "n": "1e4", "delta": "1e-6"}
SLOW = {"mechanism": "laplace", "eps0": "2", "n": "3e4", "delta": "1e-8", "rounds": "7"}


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


def test_a_matrix_is_taken_as_it_is(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("csv", "0.75,0.25\n0.25,0.75"), ("json", "[[0.75, 0.25], [0.25, 0.75]]")):
        fields = {"mechanism": "channel", "matrix": text, "n": "1000", "delta": "1e-6"}
        status, body = ask(server, "epsilon", fields)
        assert status == 200, body
        (tmp_path / f"matrix.{name}").write_text(text)
        printed = CliRunner().invoke(main, shlex.split(body["command"])[1:])
        assert printed.stdout == body["text"] + "\n"


def test_the_curve_has_the_library_s_ends(server):
    fields = {"mechanism": "binary-rr", "eps0": "4", "n": "1e4", "delta": "1e-6", "points": "3"}
    status, body = ask(server, "curve", fields)
    assert status == 200, body
    assert [row["n"] for row in body["rows"]] == [100, 10_000, 1_000_000]
    for row in body["rows"]:
        bound = sd.shuffle(sd.BinaryRR(eps0=4.0), n=row["n"]).epsilon(delta=1e-6)
        assert (row["lower"], row["upper"]) == (bound.lower, bound.upper)
        assert row["lower_text"] == outward(bound.lower, up=False, digits=4)
        assert row["upper_text"] == outward(bound.upper, up=True, digits=4)
    # One user is not hidden by anybody, and there are no fewer.
    status, body = ask(server, "curve", fields | {"n": "1", "points": "2"})
    assert status == 200
    assert body["rows"][0]["n"] == 1
    assert float(body["rows"][0]["upper_text"]) <= 4.0


def test_the_deployment_file_is_one_that_account_takes(server, tmp_path):
    from shuffledp.deployment import load

    for fields in (KRR, ASKED[4], ASKED[6], KRR | {"rounds": "12", "trust": "published"}):
        status, body = ask(server, "deployment", fields)
        assert status == 200, body
        path = tmp_path / "deployment.toml"
        path.write_text(body["toml"])
        found = load(path).deployment
        assert found.randomizer["name"] == fields["mechanism"]
        assert found.population.users == int(float(fields["n"]))
        assert found.target.delta == float(fields["delta"])
        assert found.accounting.rounds == int(fields.get("rounds", 1))
        assert found.accounting.trust == fields.get("trust", "all")
    assert ask(server, "deployment", KRR | {"analysis": "clone"})[1]["toml"].startswith("# ")


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


def test_a_report_of_what_is_no_deployment_is_refused_in_one_line(server):
    status, body = ask(server, "report", SMALL | {"n": "1e30"})
    assert status == 400
    assert body["error"].startswith("n = ")
    assert "/" not in body["error"]


def test_a_comparison_is_the_command_line_s(server):
    fields = {"n": "300000", "delta": "1e-8", "epsilon": "1", "domain": "4"}
    status, body = ask(server, "compare", fields)
    assert status == 200, body
    words = shlex.split("plan frequencies --values 4 -n 300000 --delta 1e-8 --epsilon 1")
    printed = CliRunner().invoke(main, words).stdout
    assert printed == body["text"] + "\n"
    for row in body["cells"][1:]:
        assert any(line.split() == " ".join(row).split() for line in printed.splitlines())


# --------------------------------------------------------------------------- who may ask for what


def test_it_listens_to_this_computer_alone(server):
    assert server.server_address[0] == "127.0.0.1"


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


def test_another_site_may_link_to_the_page_and_ask_nothing(server):
    for site in ("cross-site", "same-site"):
        assert get(server, "/", **{"Sec-Fetch-Site": site})[0] == 200
        for path in ("/api/mechanisms", f"/api/epsilon?{urlencode(KRR)}", "/page.js"):
            assert get(server, path, **{"Sec-Fetch-Site": site})[0] == 403


def test_its_own_origin_and_both_names_are_taken(server):
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.port}"
        found = get(server, "/api/mechanisms", Host=host, Origin=f"http://{host}")
        assert found[0] == 200


def test_every_reply_carries_the_policy(server):
    for path, status in (("/", 200), ("/page.js", 200), ("/api/mechanisms", 200), ("/x", 404)):
        found, reply, _ = get(server, path)
        assert found == status
        policy = reply.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert "Python" not in reply.headers["Server"]


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


# ------------------------------------------------------------------------------------ bounded work


def test_a_newer_request_of_the_same_page_takes_the_older_one_s_place(server):
    found = {}

    def slow():
        found["slow"] = ask(server, "epsilon", SLOW | {"client": "a"})

    ask(server, "epsilon", KRR)  # a process stands by
    thread = threading.Thread(target=slow)
    thread.start()
    time.sleep(0.3)
    status, body = ask(server, "epsilon", KRR | {"client": "a"})
    thread.join()
    assert status == 200, body
    assert found["slow"][0] == 409
    assert "newer request" in found["slow"][1]["error"]


def test_other_pages_wait_their_turn(server):
    replies = []
    threads = [
        threading.Thread(
            target=lambda i=i: replies.append(ask(server, "epsilon", KRR | {"client": f"p{i}"}))
        )
        for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [status for status, _ in replies] == [200] * 6


def test_what_takes_too_long_is_ended_and_said(server, monkeypatch):
    monkeypatch.setitem(server.desk._limits, "epsilon", 0.5)
    status, body = ask(server, "epsilon", SLOW)
    assert status == 422
    assert body["error"].startswith("epsilon: no answer within 0.5 s")
    assert ask(server, "deployment", KRR)[0] == 200


def test_the_docs_name_the_limits():
    page = Path(__file__).parents[2].joinpath("docs", "howto-data.md").read_text(encoding="utf-8")
    words = "({epsilon:g} s for eps, {curve:g} s for a curve, {compare:g} s for a comparison"
    assert words.format(**LIMITS) in page


# ------------------------------------------------------------------------------------ bad requests


def raw(server, content):
    """Status and body of whatever these bytes are."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while chunk := connection.recv(65_536):
                found += chunk
        except OSError:  # closed before all of it was sent or read
            return None, b""
    head, _, body = found.partition(b"\r\n\r\n")
    # A request of HTTP/0.9 gets a body alone.
    return (int(head.split()[1]), body) if head.startswith(b"HTTP/") else (None, found)


ODD = [
    *("nan", "inf", "-inf", "1e999", "-1", "0", "2.5", "", "1_000", "0x10", "1e-400", "\0"),
    *("٣٤", "é" * 50, "9" * 4000, "a" * 5000, "[" * 900, "{" * 900, '[{"name": "joint"}]'),
    *("'; drop", "<script>", "/etc/passwd", "../../..", "$(id)", "__import__('os')", "%s%n"),
    *("null", "true", "\r\nX: y", "1e6,1"),
]
METHODS = ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "A"]


def bad_request(rng, port):
    """Something that nobody with the page open would send."""
    host = f"Host: 127.0.0.1:{port}\r\n"
    kind = rng.randrange(10)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400)).replace(b"\n", b" ") + b"\r\n\r\n"
    if kind == 1:
        method = rng.choice(METHODS)
        body = "x" * rng.randrange(100)
        return f"{method} / HTTP/1.1\r\n{host}Content-Length: {len(body)}\r\n\r\n{body}".encode()
    if kind == 2:
        version = rng.choice(["HTTP/9.9", "HTTP/1", "HTTP/1.1.1", "HTTP/a.b", "ICY", "HTTP/2.0"])
        return f"GET / {version}\r\n{host}\r\n".encode()
    if kind == 3:
        path = rng.choice(["/../../etc/passwd", "/%00", "/api/", "/api/exec", "*", "/a/" * 999])
        return f"GET {path} HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 4:
        line = rng.choice(["X: " + "y" * 70_000, "X: y\r\n" * 150, "Host: other", "Origin: null"])
        return f"GET / HTTP/1.1\r\n{line}\r\n{host}{line}\r\n\r\n".encode()
    if kind == 5:
        return f"GET /?{'q' * rng.randrange(17_000, 90_000)} HTTP/1.1\r\n{host}\r\n".encode()
    if kind == 6:
        query = rng.choice(["a=1&a=2", "a", "&&&", "=%ff", "%zz=%", "&".join(["k=1"] * 99)])
        name = rng.choice(["epsilon", "curve", "compare", "deployment"])
        return f"GET /api/{name}?{query} HTTP/1.1\r\n{host}\r\n".encode()
    fields = dict(KRR)
    key = rng.choice([*fields, "rounds", "trust", "analysis", "points", "client", "odd"])
    fields[key] = rng.choice(ODD)
    if rng.random() < 0.3:
        fields.pop(rng.choice(list(KRR)))
    fields["n"] = (
        fields.get("n", "0") if rng.random() < 0.2 else rng.choice(["-1", "x", "1e99", ""])
    )
    name = rng.choice(["epsilon", "curve", "compare", "deployment"])
    return f"GET /api/{name}?{urlencode(fields)} HTTP/1.1\r\n{host}\r\n".encode()


def hammered(server, count, capfd):
    rng = random.Random(16)
    seen = set()
    for _ in range(count):
        request = bad_request(rng, server.port)
        status, body = raw(server, request)
        if status is None and not body:
            continue  # the connection was closed before all of it was sent
        if status == 200:  # n was left as it is, and what was odd may be so
            assert b"n=1e4" in request, request[:200]
            continue
        if request[:5] == b"HEAD " or status is None:
            assert status in {405, None}, request[:200]
        else:
            assert 400 <= status < 500, (status, request[:200], body)
        text = body.decode().strip()
        assert "\n" not in text
        assert "Traceback" not in text
        if text:
            assert set(json.loads(text)) == {"error"}, text
        seen.add(status)
    assert {400, 403, 404, 405} <= seen
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert ask(server, "epsilon", KRR)[0] == 200


def test_a_hundred_bad_requests_are_refused_in_a_line_each(server, capfd):
    hammered(server, 100, capfd)


def test_a_request_that_is_never_finished_holds_nobody_up(server):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert get(server, "/")[0] == 200


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


def test_a_port_that_is_taken_or_none_is_refused(server):
    for port in (str(server.port), "-1", "65536", "2.5", "x"):
        found = CliRunner().invoke(main, ["page", "--port", port])
        assert found.exit_code == 2
        assert found.stderr.startswith(f"shuffledp: port = {port}" if port != "x" else "shuffledp:")
        assert found.stderr.count("\n") == 1
