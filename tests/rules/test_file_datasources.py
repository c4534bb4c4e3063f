"""RM692: classes of the user's own made from FileBasedDatasource."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

SCRIPT = """
import ray
from ray.data import datasource
from ray.data.datasource import FileBasedDatasource
from ray.data.datasource.file_based_datasource import FileBasedDatasource as Base


class Lines({base}):
    def {method}(self, f, path, **reader_args):
        return f.read()


{read}
"""


@pytest.mark.parametrize("base", ["FileBasedDatasource", "Base", "datasource.FileBasedDatasource"])
@pytest.mark.parametrize(
    ("read", "said"),
    [
        ('ds = ray.data.read_datasource(Lines(), paths="/texts")', 'read_datasource(Lines("/texts"))'),
        ("ds = ray.data.read_datasource(datasource=Lines(), paths=paths)", "read_datasource(Lines(paths))"),
        ("source = Lines()", "Lines() raises a TypeError"),
        ("source = Lines(schema=None)", "Lines() raises a TypeError"),
    ],
)
def test_what_is_made_without_paths_is_told(base: str, read: str, said: str) -> None:
    outcome = converted(SCRIPT.format(base=base, method="_read_file", read=read))
    assert outcome.lines("RM692", Kind.MANUAL) == [8, 12]
    assert any(said in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("base", "read"),
    [
        ("FileBasedDatasource", 'ds = ray.data.read_datasource(Lines("/texts"))'),
        ("FileBasedDatasource", 'ds = ray.data.read_datasource(Lines(paths="/texts"))'),
        ("FileBasedDatasource", "source = Lines(*given)"),
        ("mine.FileBasedDatasource", 'ds = read_datasource(Lines(), paths="/texts")'),
    ],
)
def test_one_of_today_is_left(base: str, read: str) -> None:
    outcome = converted(SCRIPT.format(base=base, method="_read_stream", read=read))
    assert not outcome.lines("RM692", Kind.MANUAL)
