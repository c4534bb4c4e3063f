"""What may reach the offline hub beside its clients: requests that make no sense, never end, or mean another host."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raymigrate.runtime.hub import HubServer
from raymigrate.runtime.hub import server as hub_server
from tests.runtime.hub_client import ask

HOST = "Host: 127.0.0.1\r\n"
PATHS_INFO = "/api/datasets/glue/paths-info/main"
WEIGHTS = "/gpt2/resolve/main/model.safetensors"
DIGITS = "9" * 5000


@pytest.fixture(autouse=True)
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BaseException | None]]:
    """What the hub's threads died of; each test ends with nothing in it."""
    found: list[BaseException | None] = []
    original = hub_server._Listener.handle_error

    def handle_error(listener: hub_server._Listener, request: object, address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            found.append(sys.exc_info()[1])
        original(listener, request, address)

    monkeypatch.setattr(hub_server._Listener, "handle_error", handle_error)
    yield found
    assert found == []


def connected(hub: HubServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1])), timeout=10)


def answer(hub: HubServer, data: bytes) -> bytes:
    """All that comes back, with the other direction closed once everything is sent."""
    with connected(hub) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


def post(body: str, *headers: str) -> str:
    lines = [f"POST {PATHS_INFO} HTTP/1.1", HOST.strip(), *(headers or [f"Content-Length: {len(body)}"])]
    return "\r\n".join([*lines, "", body])


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(post("", f"Content-Length: {DIGITS}"), id="a length of 5,000 digits"),
        pytest.param(post("", "Content-Length: 1e3"), id="a length that is not a whole number"),
        pytest.param(post("", "Content-Length: \u00b2"), id="a length of a raised digit"),
        pytest.param(post("abcd", "Content-Length: 2", "Content-Length: 4"), id="two lengths"),
        pytest.param(post("0\r\n\r\n", "Transfer-Encoding: chunked"), id="pieces without a length"),
        pytest.param(post("abc", "Content-Length: 100"), id="a body that ends too early"),
        pytest.param(post("[" * 200_000), id="JSON of 200,000 levels"),
        pytest.param(post('{"paths":' * 100_000), id="objects of 100,000 levels"),
        *(
            pytest.param(post(json.dumps({"paths": paths})), id=f"paths are {paths}")
            for paths in (5, None, {"a": 1}, [1], [["mrpc"]], True, 1.5)
        ),
        *(
            pytest.param(f"GET {WEIGHTS} HTTP/1.1\r\n{HOST}Range: bytes={wanted}\r\n\r\n", id=f"a range {name}")
            for name, wanted in (("from", f"{DIGITS}-"), ("to", f"0-{DIGITS}"), ("of", f"-{DIGITS}"))
        ),
        pytest.param(f"GET http://[x/ HTTP/1.1\r\n{HOST}\r\n", id="an address that cannot be read"),
        pytest.param(f"GET http://[::1 HTTP/1.1\r\n{HOST}\r\n", id="an address without its bracket"),
        pytest.param("GET / HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param(f"GET / HTTP/1.1\r\n{HOST}{HOST}\r\n", id="two hosts"),
        pytest.param(f"GET / HTTP/x\r\n{HOST}\r\n", id="no version"),
        pytest.param(f"nonsense\r\n{HOST}\r\n", id="no request line"),
    ],
)
def test_what_is_no_proper_request_is_answered_with_400(hub: HubServer, request_: str) -> None:
    got = answer(hub, request_.encode("latin-1"))
    assert got.split(b" ", 2)[1] == b"400", got[:200]
    assert got.count(b"HTTP/1.1 ") == 1  # nothing of a body is taken for another request
    assert ask(hub, "/api/models/gpt2").status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0", "", "127.0.0.1@evil"],
)
def test_another_host_is_refused(hub: HubServer, host: str) -> None:
    refused = ask(hub, "/api/models/gpt2", Host=host)
    assert refused.status == 421
    assert b"openai-community" not in refused.body
    absolute = answer(hub, f"GET http://{host or 'x'}/api/models/gpt2 HTTP/1.1\r\n{HOST}\r\n".encode())
    assert absolute.startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:8080", "[::1]:9", "127.0.0.1:1"])
def test_names_of_this_machine_are_answered_whatever_the_port(hub: HubServer, host: str) -> None:
    """The port is another one where it is forwarded."""
    assert ask(hub, "/api/models/gpt2", Host=host).status == 200


def test_a_client_of_http_1_0_need_not_name_a_host(hub: HubServer) -> None:
    assert answer(hub, b"GET /api/models/gpt2 HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


HALVES = [
    b"",
    b"GET ",
    b"GET / HTTP/1.1\r\n",
    f"GET / HTTP/1.1\r\n{HOST}".encode(),
    post("abc", "Content-Length: 100").encode(),
]


def test_requests_that_never_end_are_cut_off_and_others_served_meanwhile(hub_folder: Path) -> None:
    before = threading.active_count()
    with HubServer(hub_folder, seconds=1) as server:
        clients = [connected(server) for _ in range(12) for _ in HALVES]
        for number, client in enumerate(clients):
            client.sendall(HALVES[number % len(HALVES)])
        assert ask(server, "/api/models/gpt2").status == 200
        started = time.monotonic()
        for client in clients:
            assert client.recv(65536) == b"" or client.recv(65536) == b""
            client.close()
        assert time.monotonic() - started < 8
        assert ask(server, "/api/models/gpt2").status == 200
        deadline = time.monotonic() + 5
        while threading.active_count() > before + 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert threading.active_count() <= before + 1


def test_a_request_that_trickles_in_is_cut_off_too(hub_folder: Path) -> None:
    with HubServer(hub_folder, seconds=1) as server, connected(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - started < 10:
                client.sendall(b"X-Header: x\r\n")
                time.sleep(0.2)
        assert time.monotonic() - started < 8


def test_a_client_that_takes_no_answer_is_let_go(hub_folder: Path) -> None:
    before = threading.active_count()
    with HubServer(hub_folder, seconds=1) as server, connected(server) as client:
        client.settimeout(1)
        with pytest.raises((TimeoutError, ConnectionError)):
            while True:
                client.sendall(f"GET {WEIGHTS} HTTP/1.1\r\n{HOST}\r\n".encode() * 10)
        deadline = time.monotonic() + 8
        while threading.active_count() > before + 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert threading.active_count() <= before + 1


def test_a_kept_connection_is_served_after_a_pause(hub_folder: Path) -> None:
    with HubServer(hub_folder, seconds=3) as server, connected(server) as client:
        for _ in range(3):
            client.sendall(f"HEAD /gpt2/resolve/main/config.json HTTP/1.1\r\n{HOST}\r\n".encode())
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
            time.sleep(1.5)


LINES = f"""GET / HTTP/1.1
POST / HTTP/1.1
HEAD /gpt2/resolve/main/config.json HTTP/1.1
GET {WEIGHTS} HTTP/1.1
POST {PATHS_INFO} HTTP/1.1
Host: 127.0.0.1
Content-Length: 4
Content-Length: -4
Range: bytes=5-
Expect: 100-continue
Transfer-Encoding: chunked
Connection: keep-alive
{{}}{{}}
{{"paths": [""]}}
""".encode().split(b"\n")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(LINES) | st.binary(max_size=40), max_size=12))
def test_no_bytes_whatever_break_the_hub(hub: HubServer, lines: list[bytes]) -> None:
    with contextlib.suppress(ConnectionError):  # it has refused the rest
        answer(hub, b"\r\n".join(lines))
    assert ask(hub, "/api/models/gpt2").status == 200
