"""The HTTP side: enough of the Hub's protocol for huggingface_hub 0.17 to 2.4, datasets 2.15 to 5.2 and evaluate 0.4.

    /api/{models,datasets,spaces}/ID[/revision/REVISION]       what a repository is
    /api/.../ID/tree/REVISION[/PATH], POST .../paths-info/...   what it holds
    /[datasets/|spaces/]ID/{resolve,raw}/REVISION/FILE          its files: GET, HEAD, Range

Everything else is answered with 404 and the X-Error-Code that the Hub gives.
"""

import json
import mimetypes
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from raymigrate.runtime.hub.repository import File, Repositories, Repository

API = re.compile(r"/api/(models|datasets|spaces)/(.+?)(?:/(revision|tree|paths-info)/([^/]+)(?:/(.*))?)?")
RESOLVE = re.compile(r"/(?:(datasets|spaces)/)?(.+?)/(?:resolve|raw)/([^/]+)/(.+)")
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class NotFoundError(Exception):
    """What a client asked for is not there.

    Args:
        code: The Hub's X-Error-Code: RepoNotFound, RevisionNotFound or EntryNotFound.
        message: The Hub's X-Error-Message.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Handler(BaseHTTPRequestHandler):
    """Answers one connection; `repositories` is set by the server."""

    protocol_version = "HTTP/1.1"
    repositories: Repositories

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
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
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, query = unquote(url.path), parse_qs(url.query)
        try:
            if match := API.fullmatch(path):
                self._json(self._api(*match.groups(), query=query, body=body))
            elif (match := RESOLVE.fullmatch(path)) and self.command in ("GET", "HEAD"):
                self._file(*match.groups())
            else:
                raise NotFoundError("RepoNotFound", "Not found")
        except NotFoundError as error:
            headers = {"X-Error-Code": error.code, "X-Error-Message": str(error)}
            self._send(404, json.dumps({"error": str(error)}).encode(), "application/json", headers)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client went away

    # -- answers -------------------------------------------------------------------------------

    def _repository(self, kind: str, name: str, revision: str | None) -> Repository:
        repository = self.repositories.find(kind, name)
        if repository is None:
            raise NotFoundError("RepoNotFound", "Repository not found")
        if revision not in (None, "main", repository.commit):
            raise NotFoundError("RevisionNotFound", f"Invalid rev id: {revision}")
        return repository

    def _api(  # noqa: PLR0913 - the parts of the URL
        self,
        kind: str,
        name: str,
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
                raise NotFoundError("EntryNotFound", f"{folder} does not exist on main")
            return entries
        if verb == "paths-info":
            wanted = self._wanted_paths(body)
            return [entry for entry in repository.tree(recursive=True) if entry["path"] in wanted]
        return repository.info()

    @staticmethod
    def _wanted_paths(body: bytes) -> list[str]:
        """Clients send the paths as JSON, or as a form (huggingface_hub < 0.20)."""
        try:
            paths: Any = json.loads(body).get("paths", [])
        except ValueError:
            paths = parse_qs(body.decode()).get("paths", [])
        return [paths] if isinstance(paths, str) else list(paths)

    def _json(self, document: object) -> None:
        self._send(200, json.dumps(document).encode(), "application/json", {})

    def _file(self, kind: str | None, name: str, revision: str, path: str) -> None:
        repository = self._repository(kind or "models", name, revision)
        file = repository.files.get(path)
        if file is None:
            raise NotFoundError("EntryNotFound", f"{path} does not exist on main")
        content_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
        headers = {"ETag": f'"{file.etag}"', "X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
        wanted = RANGE.fullmatch(self.headers.get("Range", ""))
        if wanted is None or self.command == "HEAD":
            self._send(200, file.path.read_bytes(), content_type, headers)
            return
        first, last = _bounds(*wanted.groups(), file)
        if first >= file.size:
            self._send(416, b"", content_type, {"Content-Range": f"bytes */{file.size}"})
            return
        headers["Content-Range"] = f"bytes {first}-{last}/{file.size}"
        self._send(206, file.path.read_bytes()[first : last + 1], content_type, headers)

    def _send(self, status: int, body: bytes, content_type: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _bounds(first: str, last: str, file: File) -> tuple[int, int]:
    """First and last byte of a Range; `bytes=-N` means the last N bytes."""
    if first == "":
        return max(0, file.size - int(last)), file.size - 1
    return int(first), min(int(last), file.size - 1) if last else file.size - 1


class HubServer:
    """A hub on loopback, for the time of a `with` block.

    Args:
        folder: What to serve; see `build_hub`.
        port: Port on 127.0.0.1; 0 takes a free one.

    Attributes:
        url: Where it answers.

    Raises:
        OSError: If the port is taken or the folder is no hub.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        handler = type("HubHandler", (Handler,), {"repositories": Repositories(folder)})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve_forever(self) -> None:
        """Serves in this thread until interrupted."""
        self._server.serve_forever()

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self._server.serve_forever, name="hub", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        """Frees the port."""
        self._server.server_close()


def hub_environment(url: str, cache: Path) -> dict[str, str]:
    """Environment variables that make a process use a hub.

    Args:
        url: Where the hub answers.
        cache: Folder for what the libraries download; one for each hub, so that nothing else is mixed in.
    """
    return {
        "HF_ENDPOINT": url,
        "HF_HOME": str(cache),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
