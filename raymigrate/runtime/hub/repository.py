"""The repositories that the hub serves, indexed once from a folder.

Layout: `FOLDER/{models,datasets,spaces}/NAMESPACE/NAME/...`; `FOLDER/aliases.json` has the short names that the Hub
redirects: `{"models": {"gpt2": "openai-community/gpt2"}, ...}`; `FOLDER/version.json` is written last, so that a
folder without it is incomplete.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KINDS = ("models", "datasets", "spaces")
ALIASES_FILE = "aliases.json"
VERSION_FILE = "version.json"
CHUNK = 1 << 20
DATE = "2023-08-15T00:00:00.000Z"  # of everything, in the one format that old clients read


@dataclass(frozen=True)
class File:
    """One file of a repository.

    Args:
        path: Where it lies.
        size: Number of bytes.
        etag: Its SHA-256, as for the Hub's large files.
    """

    path: Path
    size: int
    etag: str

    @classmethod
    def of(cls, path: Path) -> "File":
        """Reads a file, piece by piece."""
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as content:
            while chunk := content.read(CHUNK):
                digest.update(chunk)
                size += len(chunk)
        return cls(path, size, digest.hexdigest())


@dataclass(frozen=True)
class Repository:
    """One model, dataset or metric.

    Args:
        kind: "models", "datasets" or "spaces".
        name: Full name, `namespace/name`.
        files: By path within the repository.
        commit: What stands for the commit hash: changes when any file does.
    """

    kind: str
    name: str
    files: dict[str, File]
    commit: str

    @classmethod
    def of(cls, kind: str, name: str, root: Path) -> "Repository":
        """Indexes all files below a folder."""
        files = {path.relative_to(root).as_posix(): File.of(path) for path in sorted(root.rglob("*")) if path.is_file()}
        state = json.dumps([(path, file.etag) for path, file in files.items()])
        return cls(kind, name, files, hashlib.sha1(state.encode()).hexdigest())

    def info(self) -> dict[str, object]:
        """What the Hub's API says of it; the fields that its clients read."""
        document: dict[str, object] = {
            "_id": self.commit[:24],
            "id": self.name,
            "sha": self.commit,
            "private": False,
            "gated": False,
            "disabled": False,
            "tags": [],
            "downloads": 0,
            "likes": 0,
            "lastModified": DATE,
            "createdAt": DATE,
            "siblings": [{"rfilename": path} for path in sorted(self.files)],
        }
        return {**document, "modelId": self.name} if self.kind == "models" else document

    def tree(self, folder: str = "", *, recursive: bool = False) -> list[dict[str, object]]:
        """The entries below a folder, as the Hub's tree and paths-info calls list them.

        The Hub tells the last commit only if asked to; huggingface_hub 0.17 (`HfFileSystem.ls`) fails without it.
        """
        commit = {"id": self.commit, "title": "Generated", "date": DATE}
        prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
        entries: dict[str, dict[str, object]] = {}
        for path, file in sorted(self.files.items()):
            if not path.startswith(prefix):
                continue
            parts = path[len(prefix) :].split("/")
            for depth in range(1, len(parts)):
                parent = prefix + "/".join(parts[:depth])
                if recursive or depth == 1:
                    oid = hashlib.sha1(parent.encode()).hexdigest()
                    entries[parent] = {"type": "directory", "oid": oid, "size": 0, "path": parent}
            if recursive or len(parts) == 1:
                entries[path] = {"type": "file", "oid": file.etag[:40], "size": file.size, "path": path}
        return [{**entry, "lastCommit": commit} for entry in entries.values()]


class Repositories:
    """Everything that a folder holds. Only what is indexed here can ever be served.

    Args:
        folder: See the module's text.

    Raises:
        FileNotFoundError: If the folder is not one that `build_hub` finished.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / VERSION_FILE).is_file():
            raise FileNotFoundError(folder / VERSION_FILE)
        self._aliases: dict[str, dict[str, str]] = json.loads((folder / ALIASES_FILE).read_text(encoding="utf-8"))
        self._repositories: dict[tuple[str, str], Repository] = {}
        for kind in KINDS:
            for root in sorted((folder / kind).glob("*/*")):
                name = f"{root.parent.name}/{root.name}"
                self._repositories[kind, name] = Repository.of(kind, name, root)

    def find(self, kind: str, name: str) -> Repository | None:
        """The repository with a full name or with a short one that the Hub redirects."""
        return self._repositories.get((kind, self._aliases.get(kind, {}).get(name, name)))

    def __iter__(self) -> Iterator[Repository]:
        return iter(self._repositories.values())
