"""RM718: the folder for models is named by the variable that is read today."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import os\n\nimport ray\n\n"


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["TRANSFORMERS_CACHE"] = folder',
        "os.environ['PYTORCH_TRANSFORMERS_CACHE'] = folder",
        'os.environ.setdefault("TRANSFORMERS_CACHE", folder)',
        'os.environ.update({"TRANSFORMERS_CACHE": folder, "HF_HOME": other})',
        'ray.init(runtime_env={"env_vars": {"TRANSFORMERS_CACHE": folder}})',
        'env = {"TRANSFORMERS_CACHE": folder}\nray.init(runtime_env={"env_vars": env})',
    ],
)
@pytest.mark.parametrize("read", ["", '\nprint(os.environ["TRANSFORMERS_CACHE"], os.getenv("TRANSFORMERS_CACHE"))'])
def test_the_variable_that_is_set_is_the_one_that_is_read(setting: str, read: str) -> None:
    if "PYTORCH" in setting:
        read = read.replace("TRANSFORMERS", "PYTORCH_TRANSFORMERS")
    outcome = converted(HEAD + setting + read)
    assert "TRANSFORMERS_CACHE" not in outcome.text
    assert outcome.text.count("HF_HUB_CACHE") == 1 + 2 * bool(read)
    assert {kind for code, kind, _ in outcome.findings if code == "RM718"} == {Kind.CONVERTED}


def test_the_question_whether_it_is_set_is_one_after_the_new_variable() -> None:
    unless_set = 'if "{0}" not in os.environ:\n    os.environ["{0}"] = "/a"\nprint("{1}" in names, folder)'
    outcome = converted(HEAD + unless_set.format("TRANSFORMERS_CACHE", "TRANSFORMERS_CACHE"))
    assert outcome.text == HEAD + unless_set.format("HF_HUB_CACHE", "TRANSFORMERS_CACHE")


@pytest.mark.parametrize(
    "script",
    [
        f'{HEAD}print(os.environ.get("TRANSFORMERS_CACHE", "none"))',
        f'{HEAD}print("TRANSFORMERS_CACHE is not read")',
        f'{HEAD}settings["TRANSFORMERS_CACHE"] = 1',
        f'{HEAD}paths = {{"TRANSFORMERS_CACHE": "/a"}}\nprint(paths["TRANSFORMERS_CACHE"])',
        'import os\n\nos.environ["TRANSFORMERS_CACHE"] = folder',
    ],
    ids=["set by others", "text", "of something else", "a dict of its own", "not Ray's"],
)
def test_what_others_set_or_mean_stays(script: str) -> None:
    assert converted(script).text == script


def test_two_variables_for_one_folder_are_told() -> None:
    script = f'{HEAD}os.environ["HF_HUB_CACHE"] = "/a"\nos.environ["TRANSFORMERS_CACHE"] = "/b"'
    outcome = converted(script)
    assert outcome.text == script
    assert outcome.lines("RM718", Kind.MANUAL) == [6]
