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


TRAINS = """
import ray
from ray.air.config import ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.data.preprocessors import BatchMapper, Chain
from ray.train.torch import TorchTrainer

def run(loop, f, rows):
{body}
"""
READ = 'ray.data.read_csv("x.csv")'


def trainer(datasets: str, preprocessor: str = "mapper") -> str:
    return (
        f"TorchTrainer(loop, scaling_config=ScalingConfig(num_workers=2), datasets={datasets},"
        f" preprocessor={preprocessor}).fit()"
    )


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ((trainer(f'{{"train": {READ}}}'),), {Kind.CONVERTED}),
        ((f'sets = {{"train": {READ}, "valid": {READ}}}', trainer("sets")), {Kind.CONVERTED}),
        ((f"train, valid = {READ}.train_test_split(0.2)", trainer('{"train": train, "v": valid}')), {Kind.CONVERTED}),
        ((trainer(f'{{"train": {READ}}}', "Chain(mapper, BatchMapper(f))"),), {Kind.CONVERTED}),
        (("chain = Chain(mapper)", trainer(f'{{"train": {READ}}}', "chain")), {Kind.CONVERTED}),
        ((trainer('{"train": rows}'),), {Kind.MANUAL}),
        ((trainer('{"train": rows}'), trainer(f'{{"train": {READ}}}')), {Kind.CONVERTED, Kind.MANUAL}),
        ((f"mapper.transform({READ})", trainer(f'{{"train": {READ}}}')), {Kind.MANUAL}),
        (
            (f'more = dict(datasets={{"train": {READ}}})', trainer("None").replace("datasets=None", "**more")),
            {Kind.MANUAL},
        ),
        (("other = mapper", trainer(f'{{"train": {READ}}}', "other")), {Kind.CONVERTED}),
    ],
)
@pytest.mark.parametrize("made", ["mapper = ", "mapper: BatchMapper = "])
def test_a_mapper_is_asked_of_the_datasets_that_its_trainers_apply_it_to(
    made: str, lines: tuple[str, ...], kinds: set[Kind], tmp_path: Path
) -> None:
    """Which is what a second run asks of map_batches in its place."""
    body = "\n".join(f"    {line}" for line in (f'{made}BatchMapper(f, batch_format="pandas")', *lines))
    used = "from job import run\n\nrun(1, 2, 3)\n"
    write(tmp_path, {"job.py": TRAINS.format(body=body), "main.py": used})
    summary = convert(tmp_path)
    assert "RM903" not in codes(summary, Kind.ERROR, "job.py")
    assert {kind for kind in (Kind.CONVERTED, Kind.MANUAL) if "RM515" in codes(summary, kind, "job.py")} == kinds
    after = (tmp_path / "job.py").read_text()
    assert (SET in after) == (Kind.CONVERTED in kinds)
    assert not codes(convert(tmp_path), Kind.ERROR, "job.py")
    assert (tmp_path / "job.py").read_text() == after
