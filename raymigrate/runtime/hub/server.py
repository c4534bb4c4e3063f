"""The HTTP side: enough of the Hub's protocol for huggingface_hub 0.17 to 2.4, datasets 2.14 to 5.2 and evaluate 0.4.

    /api/{models,datasets,spaces}/ID[/revision/REVISION]       what a repository is
    /api/.../ID/tree/REVISION[/PATH], POST .../paths-info/...   what it holds
    /[datasets/|spaces/]ID/{resolve,raw}/REVISION/FILE          its files: GET, HEAD, Range

Everything else is answered with 404 and the X-Error-Code that the Hub gives; a malformed request with 400. Short
names such as `gpt2`, which the Hub redirects, are served directly.

A page in a browser on this machine can send requests here. It cannot read the answers, unless a name of its own leads
to 127.0.0.1 (DNS rebinding): requests for other hosts are refused with 421.
"""

import contextlib
import json
import mimetypes
import re
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from raymigrate.runtime.hub.assets import AssetError, cached_hub
from raymigrate.runtime.hub.environment import LOOPBACK
from raymigrate.runtime.hub.repository import CHUNK, File, Repositories, Repository

# Matched before %2F is decoded, as clients send a revision `refs/pr/1` as `refs%2Fpr%2F1`.
NAME = r"([^/]+(?:/[^/]+)??)"
API = re.compile(rf"/api/(models|datasets|spaces)/{NAME}(?:/(revision|tree|paths-info)/([^/]+)(?:/(.*))?)?")
RESOLVE = re.compile(rf"/(?:(datasets|spaces)/)?{NAME}/(?:resolve|raw)/([^/]+)/(.+)")
RANGE = re.compile(r"bytes=(\d*)-(\d*)")
HOST = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
LONGEST_BODY = 1 << 20
MOST_DIGITS = 18  # of a position in a file
# Until a request is complete, and until the client takes the next piece of the answer. Clients open a new connection
# where one that they have kept was closed.
SECONDS = 60.0


class RefusedError(Exception):
    """A request that cannot be answered.

    Args:
        message: The Hub's X-Error-Message.
        code: The Hub's X-Error-Code: RepoNotFound, RevisionNotFound or EntryNotFound; our own ones with other statuses.
        status: HTTP status.
    """

    def __init__(self, message: str, code: str, status: int = 404) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers one connection; `repositories` is set by the server."""

    server: "_Listener"
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # what no version can be read of is answered with a status, too
    timeout = SECONDS
    disable_nagle_algorithm = True  # else a body waits up to 40 ms for the client to acknowledge the headers
    repositories: Repositories

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: a job's log is read by people."""

    def do_GET(self) -> None:
        """Answers GET."""
        self._answer()

    def do_HEAD(self) -> None:
        """Answers HEAD."""
        self._answer()

    def do_POST(self) -> None:
        """Answers POST, which the Hub's clients use for paths-info."""
        self._answer()

    def handle_one_request(self) -> None:
        """Reads a request, within SECONDS, and answers it."""
        self.server.reads_since[self.connection] = time.monotonic()
        try:
            super().handle_one_request()
        finally:
            self.server.reads_since.pop(self.connection, None)

    def _answer(self) -> None:
        try:
            url = self._url()
            body = self._body()
            self.server.reads_since.pop(self.connection, None)
            if match := API.fullmatch(url.path):
                self._send_json(200, self._describe(*_decoded(match), query=parse_qs(url.query), body=body), {})
            elif (match := RESOLVE.fullmatch(url.path)) and self.command != "POST":
                kind, name, revision, path = _decoded(match)
                self._send_file(self._repository(kind or "models", name, revision), path or "")
            else:
                raise RefusedError("Not found", "RepoNotFound")
        except RefusedError as error:
            headers = {"X-Error-Code": error.code, "X-Error-Message": str(error)}
            self._send_json(error.status, {"error": str(error)}, headers)

    # -- requests ------------------------------------------------------------------------------

    def _url(self) -> SplitResult:
        try:
            url = urlsplit(self.path)
        except ValueError as error:
            raise self._malformed(f"Invalid address: {error}") from error
        hosts = self.headers.get_all("Host", [])
        if len(hosts) > 1 or (not hosts and self.request_version == "HTTP/1.1"):
            raise self._malformed("A request names one host")
        for host in (*hosts, *([url.netloc] if url.netloc else [])):
            if not HOST.fullmatch(host):
                self.close_connection = True  # a body may follow, which is not read
                raise RefusedError(f"This is {self.server.address}, not {host}", "MisdirectedRequest", 421)
        return url

    def _body(self) -> bytes:
        if "Transfer-Encoding" in self.headers:
            raise self._malformed("The request has to tell its length")
        lengths = set(self.headers.get_all("Content-Length", ["0"]))
        length = _number(lengths.pop())
        if lengths or length is None or length > LONGEST_BODY:
            raise self._malformed("Invalid length of the request")
        body = self.rfile.read(length)
        if len(body) < length:
            raise self._malformed("The request ends too early")
        return body

    def _malformed(self, message: str) -> RefusedError:
        """A malformed request; where the next one begins on the connection is not known."""
        self.close_connection = True
        return RefusedError(message, "BadRequest", 400)

    def _repository(self, kind: str | None, name: str | None, revision: str | None) -> Repository:
        repository = self.repositories.find(kind or "", name or "")
        if repository is None:
            raise RefusedError("Repository not found", "RepoNotFound")
        if revision not in (None, "main", repository.commit):
            raise RefusedError(f"Invalid rev id: {revision}", "RevisionNotFound")
        return repository

    def _describe(
        self,
        kind: str | None,
        name: str | None,
        verb: str | None,
        revision: str | None,
        folder: str | None,
        *,
        query: dict[str, list[str]],
        body: bytes,
    ) -> object:
        repository = self._repository(kind, name, revision)
        if verb == "tree":
            recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
            entries = repository.tree(folder or "", recursive=recursive)
            if not entries:
                raise RefusedError(f"{folder} does not exist on main", "EntryNotFound")
            return entries
        if verb == "paths-info":
            wanted = _wanted_paths(body)
            return [entry for entry in repository.tree(recursive=True) if entry["path"] in wanted]
        return repository.info()

    # -- answers -------------------------------------------------------------------------------

    def _send_file(self, repository: Repository, path: str) -> None:
        file = repository.files.get(path)
        if file is None:
            raise RefusedError(f"{path} does not exist on main", "EntryNotFound")
        headers = {
            "Content-Type": mimetypes.guess_type(path)[0] or "application/octet-stream",
            "ETag": f'"{file.etag}"',
            "X-Repo-Commit": repository.commit,
            "Accept-Ranges": "bytes",
        }
        part = None if self.command == "HEAD" else _part(self.headers.get("Range", ""), file.size)
        if part is None:
            self._send_bytes(200, headers, file, range(file.size))
        elif not part:
            self._send_headers(416, {**headers, "Content-Range": f"bytes */{file.size}", "Content-Length": "0"})
        else:
            headers["Content-Range"] = f"bytes {part[0]}-{part[-1]}/{file.size}"
            self._send_bytes(206, headers, file, part)

    def _send_bytes(self, status: int, headers: dict[str, str], file: File, part: range) -> None:
        """Sends some bytes of a file, piece by piece."""
        try:
            content = file.path.open("rb")
        except OSError as error:
            raise RefusedError(f"{file.path} can no longer be read", "ServerError", 500) from error
        with content:
            content.seek(part.start)
            self._send_headers(status, {**headers, "Content-Length": str(len(part))})
            left = 0 if self.command == "HEAD" else len(part)
            while left and (chunk := content.read(min(left, CHUNK))):
                self.wfile.write(chunk)
                left -= len(chunk)

    def _send_json(self, status: int, document: object, headers: dict[str, str]) -> None:
        body = json.dumps(document).encode()
        self._send_headers(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_headers(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        if self.close_connection:
            headers = {**headers, "Connection": "close"}
        for name, value in headers.items():
            # A path may hold line ends, which would start a header of their own.
            self.send_header(name, UNPRINTABLE.sub(" ", value.encode("ascii", "replace").decode()))
        self.end_headers()


def _decoded(match: re.Match[str]) -> list[str | None]:
    return [None if group is None else unquote(group) for group in match.groups()]


def _wanted_paths(body: bytes) -> list[str]:
    """Clients send the paths as JSON, or as a form (huggingface_hub < 0.20).

    Raises:
        RefusedError: If something else stands in the place of the paths.
    """
    try:
        document: Any = json.loads(body)
    except ValueError:
        document = parse_qs(body.decode("utf-8", "replace"))
    except RecursionError as error:
        raise RefusedError("The document is nested too deeply", "BadRequest", 400) from error
    paths = document.get("paths", []) if isinstance(document, dict) else []
    paths = [paths] if isinstance(paths, str) else paths
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise RefusedError("paths is a list of names", "BadRequest", 400)
    return paths


def _number(text: str) -> int | None:
    """A whole number of bytes; None if it is none, or larger than any file."""
    digits = text.strip()
    return int(digits) if re.fullmatch("[0-9]+", digits) and len(digits) <= MOST_DIGITS else None


def _part(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for: none at all if it cannot be met, None if it is to be ignored.

    `bytes=-N` means the last N bytes. Source: RFC 9110, 14.1.2 and 14.2.

    Raises:
        RefusedError: If it holds a number that no file is long enough for.
    """
    match = RANGE.fullmatch(header)
    if match is None or header == "bytes=-":
        return None
    first, last = (_number(digits) for digits in match.groups())
    if (first is None and match[1]) or (last is None and match[2]):
        raise RefusedError("Invalid range", "BadRequest", 400)
    if first is None:
        return range(max(0, size - (last or 0)), size)
    if last is not None and last < first:
        return None
    return range(first, size if last is None else min(last + 1, size))


class _Listener(ThreadingHTTPServer):
    """Takes connections, and cuts off those that have not sent a whole request in time, however slowly it comes."""

    daemon_threads = True
    request_queue_size = 128  # many workers connect at once; the default of 5 would turn some away

    def __init__(self, address: tuple[str, int], handler: type[Handler], seconds: float) -> None:
        super().__init__(address, handler)
        self.address = f"{address[0]}:{self.server_address[1]}"
        self.reads_since: dict[socket.socket, float] = {}  # connection -> since when it has been sending a request
        self._seconds = seconds

    def service_actions(self) -> None:
        """Called about twice a second."""
        late = time.monotonic() - self._seconds
        for connection, since in list(self.reads_since.items()):
            if since < late:
                with contextlib.suppress(OSError):  # it has just gone by itself
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints a traceback, but not when a client went away, which is its right."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class HubServer:
    """A hub on loopback, for the time of a `with` block; nothing outside this machine can reach it.

    Args:
        directory: What to serve, made by `build_hub`.
        port: Port on 127.0.0.1; 0 takes a free one.
        seconds: How long a client may take to send a request, and to take a piece of the answer.

    Attributes:
        url: Where it answers.

    Raises:
        AssetError: If the folder is not a hub.
        OSError: If the port is taken.
    """

    def __init__(self, directory: Path, port: int = 0, seconds: float = SECONDS) -> None:
        try:
            repositories = Repositories(directory)
        except (OSError, ValueError) as error:
            raise AssetError(f"{directory} holds no complete offline hub; build_hub makes one.") from error
        handler = type("HubHandler", (Handler,), {"repositories": repositories, "timeout": seconds})
        self._listener = _Listener((LOOPBACK, port), handler, seconds)
        self.url = f"http://{self._listener.address}"

    def serve_forever(self) -> None:
        """Serves in this thread until interrupted."""
        self._listener.serve_forever()

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self._listener.serve_forever, args=(0.05,), name="hub", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown()
        self.close()

    def close(self) -> None:
        """Frees the port."""
        self._listener.server_close()


def serve_hub(size: str = "tiny", port: int = 0) -> HubServer:
    """A hub of the user's cache, built on first use: `with serve_hub() as hub: hub.url`.

    Args:
        size: As for `build_hub`.
        port: As for `HubServer`.

    Raises:
        AssetError: If the assets cannot be built.
        OSError: If the port is taken.
    """
    return HubServer(cached_hub(size), port)
