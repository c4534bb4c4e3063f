"""RM515 in projects: what a file's users set, or get in the same run, is not asked for in that file."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from tests.projects.files import DRIVER, INIT, codes, convert, write

HELPER = """
import ray

def halves(batch):
    batch["x"] = batch["x"] % 2
    return batch

def prepared(ds):
    return ds.map_batches(halves, batch_format="pandas")
"""
SET = "ray.data.DataContext.get_current().enable_arrow_backed_pandas_conversion = False\n"
OWN = 'ds = ray.data.read_csv("x.csv").map_batches(halves, batch_format="pandas")\n'
MADE = 'ds = prepared(ray.data.read_csv("x.csv"))\n'


@pytest.mark.parametrize(
    ("body", "told"),
    [(OWN, True), (OWN + MADE, False), (SET + MADE, False), (MADE, True), ("print(halves)\n", True)],
)
def test_a_setting_that_the_users_have_or_get_is_not_asked_for(tmp_path: Path, body: str, told: bool) -> None:
    driver = DRIVER.format(
        imports="import ray\nfrom helper import halves, prepared\nfrom init import init", init="init"
    )
    write(tmp_path, {"helper.py": HELPER, "init.py": INIT, "main.py": driver + body})
    summary = convert(tmp_path)
    assert ("RM515" in codes(summary, Kind.MANUAL, "helper.py")) is told
    assert ("RM515" in codes(summary, Kind.CONVERTED, "main.py")) is body.startswith(OWN)


def test_it_is_asked_for_where_one_user_lacks_it(tmp_path: Path) -> None:
    driver = DRIVER.format(imports="import ray\nfrom helper import prepared\nfrom init import init", init="init")
    write(tmp_path, {"helper.py": HELPER, "init.py": INIT, "one.py": driver + SET + MADE, "two.py": driver + MADE})
    assert "RM515" in codes(convert(tmp_path), Kind.MANUAL, "helper.py")
