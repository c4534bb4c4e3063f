"""What travels along with a script: what its job may need, and nothing that should not lie about."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.options import Options
from raymigrate.cli import main
from raymigrate.runtime.verify.copies import copied, left_out
from raymigrate.runtime.verify.scripts import Sources
from raymigrate.runtime.watcher import temporary_folder
from tests.conftest import FIXTURES

BERT = FIXTURES / "accelerate_trainer/bert_mrpc/before.py"
STOPS = "import sys; sys.exit('stopped')\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A script whose run ends at once, in a folder of its own."""
    (tmp_path / "job").mkdir()
    script = tmp_path / "job/train.py"
    script.write_text(STOPS + BERT.read_text())
    return script


def beside(script: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = script.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def files_of(folder: Path) -> set[str]:
    """Files that a folder holds itself; links, behind which is nothing of its own, are not among them."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


PRIVATE_KEY = "-----BEGIN {}PRIVATE KEY-----\nAAAA\n".format("OPENSSH ")
SECRETS: dict[str, str | bytes] = {
    ".env": "HF_TOKEN=hf_secret\n",
    ".netrc": "machine a login b password secret\n",
    ".aws/credentials": "aws_secret_access_key = secret\n",
    ".config/deep/token": "secret\n",
    "id_rsa": "secret\n",
    "keys/id_ed25519": "secret\n",
    "server.pem": "secret\n",
    "keys/Server.KEY": "secret\n",
    "store.p12": b"\x30\x82secret",
    "deploy": PRIVATE_KEY + "secret\n",
    "account.json": '{"private_key": "' + PRIVATE_KEY.replace("\n", "\\n") + 'secret"}',
    "both.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + PRIVATE_KEY + "secret",
}
NEEDED: dict[str, str | bytes] = {
    "helper.py": "KEY = '-----BEGIN PRIVATE KEY-----'  # what a key looks like\n",
    "data/rows.csv": "1,2\n",
    "accelerate.yaml": "mixed_precision: 'no'\n",
    "id_rsa.pub": "ssh-rsa AAAA\n",
    "ca.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    "package/__init__.py": "",
    "keyboard.txt": "qwerty\n",
}


def test_hidden_files_and_keys_are_not_copied_and_are_told(job: Path, tmp_path: Path) -> None:
    beside(job, {**SECRETS, **NEEDED})
    copied(job, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == {"train.py", *NEEDED}
    assert not any("secret" in (tmp_path / "copy" / name).read_text() for name in NEEDED)
    told = left_out([job])
    assert "Not copied from the folder of the script: .aws, .config, .env, .netrc, account.json, both.crt" in told
    assert "and 4 more. " in told
    assert "token" not in told  # the folder is reported


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from dotenv import load_dotenv\nload_dotenv()\n", ".env"),
        ("class Settings(BaseSettings):\n    model_config = {'env_file': '.env'}\n", ".env"),
        ("open('conf/.secrets.toml')\n", ".secrets.toml"),
        ("client = storage.Client.from_service_account_json('account.json')\n", "account.json"),
        ("context.load_cert_chain(HERE / 'server.pem')\n", "server.pem"),
        ("OmegaConf.load(ROOT / '.conf' / 'train.yaml')\n", ".conf/train.yaml"),
    ],
)
def test_a_private_file_that_the_code_names_is_linked(code: str, name: str, job: Path, tmp_path: Path) -> None:
    """The job finds it, and no copy of it stays behind."""
    beside(job, {name: PRIVATE_KEY + "needed", "part/helper.py": code})
    copied(job, tmp_path / "copy")
    assert (tmp_path / "copy" / name).is_symlink()
    assert (tmp_path / "copy" / name).read_text().endswith("needed")
    assert files_of(tmp_path / "copy") == {"train.py", "part/helper.py"}
    assert left_out([job]) == ""


def test_a_word_that_only_contains_the_name_of_a_file_does_not_name_it(job: Path, tmp_path: Path) -> None:
    beside(job, {".env": "secret", "helper.py": "import os\nos.environ['A']\n"})
    copied(job, tmp_path / "copy")
    assert not (tmp_path / "copy/.env").exists()


def test_a_hidden_script_is_copied(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job/.train.py").write_text("x = 1\n")
    assert copied(tmp_path / "job/.train.py", tmp_path / "copy").read_text() == "x = 1\n"


@pytest.mark.parametrize("keep", ["kept", "deep/er/kept"])
def test_a_kept_folder_inside_the_folder_of_the_script_holds_no_copy_of_itself(keep: str, job: Path) -> None:
    beside(job, {"deep/data.csv": "1\n", ".env": "secret"})
    keep = str(job.parent / keep)
    outcome = CliRunner().invoke(main, ["verify", str(job), "--keep", keep])
    assert outcome.exit_code == 2
    assert "ended with exit status 1" in outcome.output
    names = files_of(Path(keep))
    assert {"scripts/B/train.py", "scripts/C/train.py", "runs/B/work/train.py", "scripts/B/deep/data.csv"} <= names
    assert not [name for name in names if "kept" in name or name.endswith(".env")]


def test_what_is_kept_belongs_to_its_user_alone_and_not_to_git(job: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    CliRunner().invoke(main, ["verify", str(job), "--keep", str(kept)])
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (kept / ".gitignore").read_text().splitlines()[-1] == "*"


def test_an_earlier_kept_folder_is_not_copied(job: Path) -> None:
    for number in (1, 2):
        CliRunner().invoke(main, ["verify", str(job), "--keep", str(job.parent / f"kept{number}")])
    assert not [name for name in files_of(job.parent / "kept2") if "kept1" in name]


def test_folders_of_other_runs_are_not_copied(job: Path, tmp_path: Path) -> None:
    """As in the folder for temporary files, where scripts are tried out: each run has its scratch folder there."""
    with temporary_folder("raymigrate-verify-", job.parent) as scratch:
        (scratch / "data.csv").touch()
        copied(job, scratch / "copy")
        assert files_of(scratch / "copy") == {"train.py"}


def test_what_cannot_be_copied_stops_nothing_and_is_told(job: Path, tmp_path: Path) -> None:
    os.mkfifo(job.parent / "pipe")
    (job.parent / "loose").symlink_to(tmp_path / "nowhere")
    (job.parent / "round").symlink_to(job.parent / "round")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(job.parent)  # the path of a socket must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        copied(job, tmp_path / "copy")
        assert "the folder of the script: pipe, socket." in left_out([job])
    assert files_of(tmp_path / "copy") == {"train.py"}


def test_what_must_not_be_read_stops_nothing_and_is_told(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said by the functions that ask for rights, as these tests may run as root, who has them all."""
    beside(job, {"theirs.csv": "1", "theirs/rows.csv": "2"})
    scandir = os.scandir

    def refusing(folder: Path) -> object:
        if folder.name == "theirs":
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "theirs.csv")
    monkeypatch.setattr(os, "scandir", refusing)
    copied(job, tmp_path / "copy")
    assert left_out([job]).startswith("Not copied from the folder of the script: theirs, theirs.csv.")
    monkeypatch.undo()
    assert files_of(tmp_path / "copy") == {"train.py"}


def test_linked_code_is_copied_so_that_its_conversion_changes_nothing_elsewhere(job: Path, tmp_path: Path) -> None:
    legacy = "from ray.air import session\n\n\ndef report(metrics):\n    session.report(metrics)\n"
    beside(job, {"../common/helper.py": legacy, "../package/tools.py": legacy, "../data/rows.csv": "1\n"})
    (job.parent / "helper.py").symlink_to("../common/helper.py")
    (job.parent / "package").symlink_to(tmp_path / "package")
    (job.parent / "data").symlink_to("../data")
    (job.parent / "same.py").symlink_to("helper.py")
    job.write_text("from helper import report\nfrom package.tools import report as other\n" + BERT.read_text())
    script, _ = Sources(job).put_converted(tmp_path / "C", Options())
    assert (script.parent / "helper.py").read_text() != legacy
    assert (tmp_path / "common/helper.py").read_text() == (tmp_path / "package/tools.py").read_text() == legacy
    assert (script.parent / "data/rows.csv").read_text() == "1\n"
    assert (script.parent / "data").is_symlink()


def test_links_that_lead_round_in_a_circle_end(job: Path, tmp_path: Path) -> None:
    beside(job, {"../other/tools.py": "x = 1\n"})
    (job.parent / "other").symlink_to("../other")
    (tmp_path / "other/back").symlink_to(job.parent)
    (tmp_path / "other/above").symlink_to(tmp_path)
    copied(job, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == {"train.py", "other/tools.py"}


def test_a_script_that_is_read_only_is_converted_all_the_same(job: Path, tmp_path: Path) -> None:
    """As version control systems leave files that nobody has asked to edit."""
    job.chmod(0o444)
    script, _ = Sources(job).put_converted(tmp_path / "C", Options())
    assert "TorchTrainer(" in script.read_text()
    assert job.stat().st_mode & 0o777 == 0o444
