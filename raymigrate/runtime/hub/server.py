"""The HTTP side: enough of the Hub's protocol for huggingface_hub 0.17 to 2.4, datasets 2.14 to 5.2 and evaluate 0.4.

    /api/{models,datasets,spaces}/ID[/revision/REVISION]       what a repository is
    /api/.../ID/tree/REVISION[/PATH], POST .../paths-info/...   what it holds
    /[datasets/|spaces/]ID/{resolve,raw}/REVISION/FILE          its files: GET, HEAD, Range

Everything else is answered with 404 and the X-Error-Code that the Hub gives. Short names such as `gpt2`, which the Hub
redirects, are served directly.
"""

import json
import mimetypes
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from raymigrate.runtime.hub.assets import AssetError, cached_hub
from raymigrate.runtime.hub.environment import LOOPBACK
from raymigrate.runtime.hub.repository import CHUNK, File, Repositories, Repository

# Matched before %2F is decoded, as clients send a revision `refs/pr/1` as `refs%2Fpr%2F1`.
NAME = r"([^/]+(?:/[^/]+)??)"
API = re.compile(rf"/api/(models|datasets|spaces)/{NAME}(?:/(revision|tree|paths-info)/([^/]+)(?:/(.*))?)?")
RESOLVE = re.compile(rf"/(?:(datasets|spaces)/)?{NAME}/(?:resolve|raw)/([^/]+)/(.+)")
RANGE = re.compile(r"bytes=(\d*)-(\d*)")
LONGEST_BODY = 1 << 20


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

    protocol_version = "HTTP/1.1"
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

    def _answer(self) -> None:
        url = urlsplit(self.path)
        try:
            body = self._body()
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

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or int(length) > LONGEST_BODY:
            self.close_connection = True  # what follows on this connection cannot be told apart
            raise RefusedError("Invalid length of the request", "BadRequest", 400)
        return self.rfile.read(int(length))

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
        for name, value in headers.items():
            # A path may hold line ends, which would start a header of their own.
            self.send_header(name, value.encode("ascii", "replace").decode().replace("\r", " ").replace("\n", " "))
        self.end_headers()


def _decoded(match: re.Match[str]) -> list[str | None]:
    return [None if group is None else unquote(group) for group in match.groups()]


def _wanted_paths(body: bytes) -> list[str]:
    """Clients send the paths as JSON, or as a form (huggingface_hub < 0.20)."""
    try:
        document: Any = json.loads(body)
    except ValueError:
        document = parse_qs(body.decode("utf-8", "replace"))
    paths = document.get("paths", []) if isinstance(document, dict) else []
    return [paths] if isinstance(paths, str) else list(paths)


def _part(header: str, size: int) -> range | None:
    """The bytes that a Range header asks for: none at all if it cannot be met, None if it is to be ignored.

    `bytes=-N` means the last N bytes. Source: RFC 9110, 14.1.2 and 14.2.
    """
    match = RANGE.fullmatch(header)
    if match is None or header == "bytes=-":
        return None
    first, last = match.groups()
    if first == "":
        return range(max(0, size - int(last)), size)
    if last and int(last) < int(first):
        return None
    return range(int(first), min(int(last) + 1, size) if last else size)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # many workers connect at once; the default of 5 would turn some away

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints a traceback, but not when a client went away, which is its right."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class HubServer:
    """A hub on loopback, for the time of a `with` block; nothing outside this machine can reach it.

    Args:
        directory: What to serve, made by `build_hub`.
        port: Port on 127.0.0.1; 0 takes a free one.

    Attributes:
        url: Where it answers.

    Raises:
        AssetError: If the folder is no hub.
        OSError: If the port is taken.
    """

    def __init__(self, directory: Path, port: int = 0) -> None:
        try:
            repositories = Repositories(directory)
        except (OSError, ValueError) as error:
            raise AssetError(f"{directory} holds no complete offline hub; build_hub makes one.") from error
        handler = type("HubHandler", (Handler,), {"repositories": repositories})
        self._listener = _Listener((LOOPBACK, port), handler)
        self.url = f"http://{LOOPBACK}:{self._listener.server_address[1]}"

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
