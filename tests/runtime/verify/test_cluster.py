"""`raymigrate verify --address`: the arms run as Ray Jobs on a cluster of two nodes, which lie on this machine.

Slow: real Ray. Each node has one CPU, so that the two workers must be on different nodes. A cluster that takes jobs
needs ray[default]; that is installed for these nodes alone: with it every Ray that a test starts has a dashboard.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ray.job_submission import JobSubmissionClient

from raymigrate.runtime.verify.cluster import Cluster
from raymigrate.runtime.verify.processes import RUN_VARIABLE, TimedOut, end_processes, ray_folder
from tests.conftest import FIXTURES
from tests.jobs import RAY_SETTINGS
from tests.runtime.verify.test_bundled_jobs import GPT2

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("cluster")]  # they share a cluster

NAME = f"test-cluster-{os.getpid()}"


def free_port() -> int:
    with socket.socket() as stream:
        stream.bind(("127.0.0.1", 0))
        port: int = stream.getsockname()[1]
        return port


def install_default(folder: Path) -> None:
    """What ray[default] needs beyond this environment."""
    import ray  # noqa: PLC0415 - only when the tests run

    constraints = ["-c", str(FIXTURES.parent / "constraints.txt")]
    packages = [f"ray[default]=={ray.__version__}", "--report", str(folder / "needed.json")]
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *constraints]
    subprocess.run([*command, "--dry-run", *packages], check=True)
    needed = json.loads((folder / "needed.json").read_text())["install"]
    names = [f"{each['metadata']['name']}=={each['metadata']['version']}" for each in needed]
    subprocess.run([*command, "--no-deps", "--target", str(folder / "default"), *names], check=True)


def start_node(log: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1", "--disable-usage-stats"]
    options = (*options, "--node-ip-address=127.0.0.1", f"--dashboard-agent-listen-port={free_port()}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, **RAY_SETTINGS, "PATH": path, RUN_VARIABLE: NAME}
    # A node that does not answer for half a minute is given up, and half of the workers would have no place any more.
    environment["RAY_health_check_failure_threshold"] = "100"
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(log.parent / "default"), environment.get("PYTHONPATH")))
    )
    with log.open("wb") as output:
        return subprocess.Popen([*command, *options], env=environment, stdout=output, stderr=output)


def wait_for_nodes(dashboard: str, count: int, logs: list[Path]) -> None:
    for _ in range(180):
        try:
            with urllib.request.urlopen(f"{dashboard}/nodes?view=summary", timeout=5) as answer:
                if len(json.load(answer)["data"]["summary"]) == count:
                    return
        except OSError:
            pass
        time.sleep(1)
    pytest.fail("the cluster did not start:\n" + "\n".join(log.read_text() for log in logs))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the job server of two nodes."""
    folder = tmp_path_factory.mktemp("cluster")
    install_default(folder)
    port, dashboard_port = free_port(), free_port()
    dashboard = f"http://127.0.0.1:{dashboard_port}"
    logs = [folder / "head.txt", folder / "node.txt"]
    nodes: list[subprocess.Popen[bytes]] = []
    with ray_folder() as short:
        try:
            head = ("--head", f"--port={port}", f"--dashboard-port={dashboard_port}", f"--temp-dir={short}")
            nodes.append(start_node(logs[0], *head))
            wait_for_nodes(dashboard, 1, logs[:1])
            nodes.append(start_node(logs[1], f"--address=127.0.0.1:{port}"))
            wait_for_nodes(dashboard, 2, logs)
            yield dashboard
        finally:
            for node in reversed(nodes):
                end_processes(node, NAME)


def verify(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "raymigrate", "verify", str(GPT2), "--offline", "--device", "cpu", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )


def test_a_job_verifies_on_a_cluster(cluster: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    options = ("--address", cluster, "--shared-folder", str(shared), "--max-steps", "3", "--report", "out.json")
    done = verify(*options, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["passed"] is True
    ranks = {series["rank"] for arm in report["arms"] for series in arm["series"]}
    assert ranks == {0, 1}
    assert list(shared.iterdir()) == []


def run_on(cluster: str, folder: Path, code: str, timeout: float) -> int:
    return Cluster(cluster, folder).run_logged(
        ["python", "-c", code],
        folder=folder,
        variables={"GREETING": "hello"},
        log=folder / "log.txt",
        timeout=timeout,
        watch=lambda: None,
    )


def test_a_job_that_fails_leaves_its_log(cluster: str, tmp_path: Path) -> None:
    code = "import os, sys; print(os.environ['GREETING'], os.getcwd()); sys.exit('that went wrong')"
    assert run_on(cluster, tmp_path, code, timeout=600) == 1
    log = (tmp_path / "log.txt").read_text()
    assert f"hello {tmp_path}" in log
    assert "that went wrong" in log


def test_a_job_that_takes_too_long_is_stopped(cluster: str, tmp_path: Path) -> None:
    with pytest.raises(TimedOut):
        run_on(cluster, tmp_path, "import time; time.sleep(600)", timeout=10)
    assert all(job.status.is_terminal() for job in JobSubmissionClient(cluster).list_jobs())


STAYS = """
import sys
from pathlib import Path
from raymigrate.runtime.verify.cluster import Cluster
folder = Path(sys.argv[2])
options = {"folder": folder, "variables": {}, "log": folder / "log.txt", "timeout": 600, "watch": lambda: None}
Cluster(sys.argv[1], folder).run_logged(["python", "-c", "import time; time.sleep(600)"], **options)
"""


def test_a_killed_verify_stops_its_job(cluster: str, tmp_path: Path) -> None:
    client = JobSubmissionClient(cluster)
    process = subprocess.Popen([sys.executable, "-c", STAYS, cluster, str(tmp_path)])
    wait_until(lambda: any(job.status.value == "RUNNING" for job in client.list_jobs()))
    process.kill()
    process.wait()
    wait_until(lambda: all(job.status.is_terminal() for job in client.list_jobs()))


def wait_until(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.5)


def test_an_address_where_nothing_answers(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    done = verify("--address", address, "--shared-folder", str(tmp_path), folder=tmp_path)
    assert done.returncode == 2
    assert f"No Ray cluster takes jobs at {address}" in done.stderr
