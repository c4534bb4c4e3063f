"""The runs of the tests and those of `raymigrate verify` spare the same time: what both set stands in two places."""

from raymigrate.runtime.verify.arms import FORKED_WORKERS, INJECTED, QUICKER
from tests.jobs import RAY_SETTINGS


def test_the_tests_set_what_verify_sets_to_be_quicker() -> None:
    assert RAY_SETTINGS.items() >= QUICKER.items()
    assert RAY_SETTINGS[FORKED_WORKERS] == "1"


def test_the_switch_of_forked_workers_has_the_name_that_workers_ask_for() -> None:
    assert f'\nSWITCH = "{FORKED_WORKERS}"\n' in (INJECTED / "raymigrate_workers.py").read_text(encoding="utf-8")
