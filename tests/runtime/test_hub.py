"""The offline hub: its protocol, its command, and the libraries that load from it."""

import errno
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from raymigrate.runtime.hub import (
    HubServer,
    assets,
    build_hub,
    hub_environment,
)
from raymigrate.runtime.hub.command import hub as hub_command
from tests.conftest import ROOT
from tests.runtime.hub_client import ask

LOADS = Path(__file__).with_name("hub_loads.py")
WEIGHTS = "/gpt2/resolve/main/model.safetensors"


class TestFiles:
    def test_a_file_is_served_whole(self, hub: HubServer, hub_folder: Path) -> None:
        with urllib.request.urlopen(f"{hub.url}{WEIGHTS}") as response:
            assert response.read() == (hub_folder / "models/openai-community/gpt2/model.safetensors").read_bytes()

    def test_head_tells_what_the_clients_need(self, hub: HubServer) -> None:
        whole, head = ask(hub, WEIGHTS), ask(hub, WEIGHTS, "HEAD")
        assert head.status == 200
        assert head.body == b""
        assert head.headers["Content-Length"] == str(len(whole.body))
        assert head.headers["Accept-Ranges"] == "bytes"
        assert head.headers["ETag"] == whole.headers["ETag"]
        assert head.headers["X-Repo-Commit"] == ask(hub, "/api/models/gpt2").json["sha"]

    @pytest.mark.parametrize(
        ("wanted", "part"),
        [
            ("bytes=0-9", slice(0, 10)),
            ("bytes=5-5", slice(5, 6)),
            ("bytes=100-", slice(100, None)),
            ("bytes=-4", slice(-4, None)),
            ("bytes=0-99999999999", slice(None)),
            ("bytes=-99999999999", slice(None)),
        ],
    )
    def test_a_range(self, hub: HubServer, wanted: str, part: slice) -> None:
        whole, answer = ask(hub, WEIGHTS), ask(hub, WEIGHTS, Range=wanted)
        assert answer.status == 206
        assert answer.body == whole.body[part]
        first, last, _ = part.indices(len(whole.body))
        assert answer.headers["Content-Range"] == f"bytes {first}-{last - 1}/{len(whole.body)}"

    @pytest.mark.parametrize("wanted", ["bytes=99999999999-", "bytes=-0"])
    def test_a_range_beyond_the_file(self, hub: HubServer, wanted: str) -> None:
        answer = ask(hub, WEIGHTS, Range=wanted)
        assert (answer.status, answer.body) == (416, b"")
        assert answer.headers["Content-Range"].startswith("bytes */")

    @pytest.mark.parametrize("wanted", ["bytes=-", "bytes=9-5", "bytes=0-1,5-6", "lines=0-1", "nonsense"])
    def test_a_range_without_meaning_is_ignored(self, hub: HubServer, wanted: str) -> None:
        assert ask(hub, WEIGHTS, Range=wanted).status == 200

    def test_one_connection_serves_many_requests(self, hub: HubServer) -> None:
        connection = http.client.HTTPConnection(hub.url.removeprefix("http://"), timeout=10)
        for method, path in [("HEAD", WEIGHTS), ("GET", "/no/such"), ("POST", WEIGHTS), ("GET", WEIGHTS)] * 2:
            connection.request(method, path, b"some body" if method == "POST" else None)
            response = connection.getresponse()
            response.read()
            assert response.status == (404 if method == "POST" or path != WEIGHTS else 200)
        connection.close()

    def test_many_clients_at_once(self, hub: HubServer) -> None:
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(lambda _: ask(hub, WEIGHTS).body, range(128)))
        assert len(set(answers)) == 1


class TestNames:
    @pytest.mark.parametrize(
        ("kind", "short", "full"),
        [(kind, short, full) for kind, names in assets.ALIASES.items() for short, full in names.items()],
    )
    def test_a_short_name_means_the_full_one(self, hub: HubServer, kind: str, short: str, full: str) -> None:
        by_short, by_full = ask(hub, f"/api/{kind}/{short}"), ask(hub, f"/api/{kind}/{full}")
        assert by_short.status == 200
        assert by_short.json == by_full.json
        assert by_short.json["id"] == full

    def test_revisions(self, hub: HubServer) -> None:
        commit = ask(hub, "/api/datasets/glue").json["sha"]
        for revision in ("main", commit):
            assert ask(hub, f"/api/datasets/glue/revision/{revision}").json["sha"] == commit
            assert ask(hub, f"/datasets/glue/resolve/{revision}/README.md").status == 200
        assert ask(hub, "/datasets/nyu-mll/glue/raw/main/README.md").body.startswith(b"---\nconfigs:")

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("/api/models/no/such", "RepoNotFound"),
            ("/api/models/glue", "RepoNotFound"),  # a dataset
            ("/no-such/resolve/main/config.json", "RepoNotFound"),
            ("/", "RepoNotFound"),
            ("/api/whoami-v2", "RepoNotFound"),
            ("/api/models/gpt2/revision/v1.0", "RevisionNotFound"),
            ("/api/datasets/glue/revision/refs%2Fconvert%2Fparquet", "RevisionNotFound"),
            ("/gpt2/resolve/refs%2Fpr%2F1/config.json", "RevisionNotFound"),
            ("/gpt2/resolve/main/no-such.json", "EntryNotFound"),
            ("/datasets/glue/resolve/main/mrpc", "EntryNotFound"),  # a folder
            ("/api/datasets/glue/tree/main/no-such", "EntryNotFound"),
        ],
    )
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_what_is_missing_has_the_code_of_the_hub(self, hub: HubServer, method: str, path: str, code: str) -> None:
        answer = ask(hub, path, method)
        assert (answer.status, answer.headers["X-Error-Code"]) == (404, code)
        assert answer.headers["X-Error-Message"]
        assert answer.body == b"" or "error" in answer.json

    def test_the_tree(self, hub: HubServer) -> None:
        top = ask(hub, "/api/datasets/glue/tree/main").json
        assert {(entry["type"], entry["path"]) for entry in top} == {
            ("file", "README.md"),
            ("directory", "cola"),
            ("directory", "mrpc"),
            ("directory", "sst2"),
        }
        files = {f"mrpc/{split}-00000-of-00001.parquet" for split in ("train", "validation", "test")}
        assert {entry["path"] for entry in ask(hub, "/api/datasets/glue/tree/main/mrpc").json} == files
        everything = ask(hub, "/api/datasets/glue/tree/main?recursive=True&expand=False").json
        assert files | {"mrpc", "README.md"} <= {entry["path"] for entry in everything}
        commit = ask(hub, "/api/datasets/glue").json["sha"]
        assert {entry["lastCommit"]["id"] for entry in everything} == {commit}  # huggingface_hub 0.17 needs one

    @pytest.mark.parametrize(
        "body", [b'{"paths": ["mrpc", "README.md", "no-such"], "expand": false}', b"paths=mrpc&paths=README.md"]
    )
    def test_paths_info(self, hub: HubServer, body: bytes) -> None:
        entries = ask(hub, "/api/datasets/nyu-mll/glue/paths-info/main", "POST", body).json
        assert {entry["path"]: entry["type"] for entry in entries} == {"mrpc": "directory", "README.md": "file"}

    @pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"paths"', b"\xff\xfe"])
    def test_paths_info_of_nothing(self, hub: HubServer, body: bytes) -> None:
        assert ask(hub, "/api/datasets/glue/paths-info/main", "POST", body).json == []


class TestSafety:
    @pytest.mark.parametrize(
        "path",
        [
            "/gpt2/resolve/main/../../../aliases.json",
            "/gpt2/resolve/main/%2e%2e/%2e%2e/%2e%2e/aliases.json",
            "/gpt2/resolve/main/..%2F..%2F..%2Faliases.json",
            "/gpt2/resolve/main//etc/passwd",
            "/gpt2/resolve/main/%2Fetc%2Fpasswd",
            "/gpt2/resolve/main/config.json%00",
            "/datasets/../resolve/main/aliases.json",
            "/..%2F..%2Fetc/resolve/main/passwd",
            "/../aliases.json",
            "/aliases.json",
            "/api/models/../../aliases.json",
            "/api/models/gpt2/tree/main/../..",
        ],
    )
    def test_nothing_outside_a_repository_is_served(self, hub: HubServer, path: str) -> None:
        answer = ask(hub, path)
        assert answer.status == 404
        assert b"openai-community" not in answer.body
        assert b"root:" not in answer.body

    def test_a_path_cannot_add_headers(self, hub: HubServer) -> None:
        answer = ask(hub, "/gpt2/resolve/main/a%0d%0aX-Evil:%201%0a%0abody")
        assert answer.status == 404
        assert "X-Evil" not in answer.headers

    @pytest.mark.parametrize("length", ["-1", "ten", "99999999999"])
    def test_a_wrong_length_is_refused(self, hub: HubServer, length: str) -> None:
        answer = ask(hub, "/api/datasets/glue/paths-info/main", "POST", **{"Content-Length": length})
        assert answer.status == 400
        assert ask(hub, "/api/models/gpt2").status == 200

    def test_a_client_may_go_away(self, hub: HubServer, capfd: pytest.CaptureFixture[str]) -> None:
        for request in (b"GET ", f"GET {WEIGHTS} HTTP/1.1\r\n\r\n".encode(), b"GET /no/such HTTP/1.1\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1]))) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close resets
                client.sendall(request)
        time.sleep(0.3)  # for the server's threads to notice
        assert ask(hub, "/api/models/gpt2").status == 200
        assert capfd.readouterr().err == ""

    def test_only_this_machine_is_answered(self, hub: HubServer) -> None:
        assert hub.url.startswith("http://127.0.0.1:")
        assert hub._listener.socket.getsockname()[0] == "127.0.0.1"

    def test_a_file_that_is_gone(self, hub_folder: Path, tmp_path: Path) -> None:
        shutil.copytree(hub_folder, tmp_path / "hub")
        with HubServer(tmp_path / "hub") as server:
            (tmp_path / "hub/models/openai-community/gpt2/model.safetensors").unlink()
            answer = ask(server, WEIGHTS)
        assert (answer.status, answer.json["error"].split()[-5:]) == (500, ["can", "no", "longer", "be", "read"])

    def test_the_port_is_free_after_the_block(self, hub_folder: Path) -> None:
        with HubServer(hub_folder) as server:
            port = int(server.url.rsplit(":", 1)[1])
            with pytest.raises(OSError) as caught:
                HubServer(hub_folder, port)
            assert caught.value.errno == errno.EADDRINUSE
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(server.url, timeout=5)
        with HubServer(hub_folder, port) as server:
            assert server.url.endswith(f":{port}")


class TestCommand:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
    def test_it_serves_until_interrupted(self, number: int, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "raymigrate", "hub", "serve", "--directory", str(tmp_path / "a hub")]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            exports = dict(next_export(process.stdout) for _ in range(2))
            url = exports["HF_ENDPOINT"]
            assert json.load(urllib.request.urlopen(f"{url}/api/models/gpt2"))["id"] == "openai-community/gpt2"
            assert exports["HF_HOME"].startswith(f"'{tmp_path}/a hub-downloads'")
        finally:
            process.send_signal(number)
            watchdog = threading.Timer(20, process.kill)
            watchdog.start()
            output, errors = process.communicate()
            watchdog.cancel()
        assert (process.returncode, output.splitlines()[-1], errors) == (0, "Stopped.", "")

    def test_a_taken_port(self, hub_folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            result = CliRunner().invoke(hub_command, ["serve", "--port", port, "--directory", str(hub_folder)])
        assert result.exit_code == 1
        assert result.output == (
            f"Error: Port {port} cannot be used: Address already in use; choose another with --port.\n"
        )

    def test_a_folder_that_is_no_hub(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        result = CliRunner().invoke(hub_command, ["serve", "--directory", str(tmp_path)])
        assert result.exit_code == 1
        assert result.output == f"Error: {tmp_path} holds other files; remove it or name another folder.\n"


@pytest.fixture(scope="module")
def found(hub: HubServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the libraries load; one process does it all, as starting them takes longer than all the rest."""
    folder = tmp_path_factory.mktemp("libraries")
    build_hub(folder / "without heads", task_heads=False)
    environment = {
        **os.environ,
        **hub_environment(hub.url, folder / "huggingface"),
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.run(
        [sys.executable, LOADS, folder / "without heads"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-6000:]
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.ray
@pytest.mark.xdist_group("hub")  # they share what a process found
class TestLibraries:
    def test_tokenizers(self, found: dict[str, Any]) -> None:
        tokens = found["tokens"]
        assert tokens["bert-base-cased"][:2] == ["The", "market"]
        assert tokens["bert-base-uncased"][:2] == tokens["distilbert-base-uncased"][:2] == ["the", "market"]
        assert tokens["gpt2"][:2] == ["The", "\u0120market"]

    def test_the_checkpoints_are_complete(self, found: dict[str, Any]) -> None:
        assert found["layers"] == 2
        assert not any(found["absent"].values()), found["absent"]
        assert not any(found["absent_heads"].values()), found["absent_heads"]
        assert found["three_classes"] == 3

    def test_datasets_have_the_real_schemas(self, found: dict[str, Any]) -> None:
        datasets = found["datasets"]
        mrpc = {"sentence1": "string", "sentence2": "string", "label": "int64", "idx": "int32"}
        sentence = {"sentence": "string", "label": "int64", "idx": "int32"}
        assert datasets["nyu-mll/glue mrpc"]["columns"] == mrpc
        assert datasets["nyu-mll/glue mrpc"]["labels"] == ["not_equivalent", "equivalent"]
        assert datasets["nyu-mll/glue mrpc"]["rows"] == {"train": 256, "validation": 64, "test": 32}
        assert datasets["nyu-mll/glue sst2"]["columns"] == datasets["nyu-mll/glue cola"]["columns"] == sentence
        assert datasets["nyu-mll/glue sst2"]["used"] == {"train": [0, 1], "validation": [0, 1], "test": [-1]}
        assert datasets["nyu-mll/glue cola"]["labels"] == ["unacceptable", "acceptable"]
        assert datasets["Salesforce/wikitext wikitext-2-raw-v1"]["columns"] == {"text": "string"}
        assert datasets["stanfordnlp/imdb"]["columns"] == {"text": "string", "label": "int64"}
        assert datasets["stanfordnlp/imdb"]["used"] == {"train": [0, 1], "test": [0, 1], "unsupervised": [-1]}

    def test_metrics(self, found: dict[str, Any]) -> None:
        """Worked out by hand: of the predictions 1 0 1 1 0 for 1 1 0 1 0, three are right, two of them 1."""
        matthews = pytest.approx((2 * 1 - 1 * 1) / (3 * 2 * 3 * 2) ** 0.5)
        assert found["metrics"] == {
            "glue mrpc": {"accuracy": pytest.approx(3 / 5), "f1": pytest.approx(2 / 3)},
            "glue sst2": {"accuracy": pytest.approx(3 / 5)},
            "glue cola": {"matthews_correlation": matthews},
            "glue stsb": {"pearson": matthews, "spearmanr": matthews},
            "accuracy": {"accuracy": pytest.approx(3 / 5)},
            "f1": {"f1": pytest.approx(2 / 3)},
        }
        # F1 of the three classes: 1, 0 and 1/2; they are expected 1, 1 and 2 times.
        assert found["f1"] == {"micro": 0.5, "macro": pytest.approx(1.5 / 3), "weighted": pytest.approx(2 / 4)}

    @pytest.mark.parametrize(
        "model", ["bert-base-cased", "bert-base-uncased", "distilbert-base-uncased", "gpt2", "distilgpt2"]
    )
    def test_a_few_steps_of_training_lower_the_loss(self, found: dict[str, Any], model: str) -> None:
        losses = found["losses"][model]
        assert sum(losses[-4:]) / 4 < sum(losses[:4]) / 4 - 0.02


def next_export(lines: Iterator[str]) -> tuple[str, str]:
    """The next line that a user would paste into a shell, as name and value."""
    for line in lines:
        if line.strip().startswith("export "):
            name, _, value = line.strip().removeprefix("export ").partition("=")
            return name, value
    raise AssertionError("no export line")
