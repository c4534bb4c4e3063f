"""RM693, RM697 and RM723: deployments of Ray Serve, as Ray 1 and 2.0 had them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from raymigrate.base.findings import Kind
from raymigrate.cli import main
from tests.rules.scripts import converted

PLAIN = """
class Plain:
    def deploy(self):
        pass

    @staticmethod
    def options(version):
        pass
"""
HEAD = "from ray import serve\n\n"
ECHO = "@serve.deployment\nclass Echo:\n    def delete(self):\n        pass\n\n"


@pytest.mark.parametrize(
    "script",
    [
        "@serve.deployment(version='1')\nclass Echo:\n    pass",
        "@serve.deployment(version=None)\ndef echo(request):\n    return 1",
        "serve.deployment(name='echo', version=VERSION)(Echo)",
        "serve.deployment(lambda request: 1).options(version='2')",
        "serve.HTTPOptions(num_cpus=1)",
        "serve.HTTPOptions(middlewares=[Middleware])",
    ],
)
def test_arguments_that_serve_raises_for_are_told(script: str) -> None:
    assert converted(HEAD + script).lines("RM697", Kind.MANUAL) == [3]


def test_what_went_when_is_told() -> None:
    (message,) = converted(f"{HEAD}serve.deployment(version='1')(Echo)\n").messages
    assert message.startswith("ray.serve.deployment(version=) raises a ValueError on Ray >= 2.56. Delete it")
    (message,) = converted(f"{HEAD}serve.HTTPOptions(num_cpus=2)\n").messages
    assert message.startswith("HTTPOptions(num_cpus=) raises a ValueError on Ray >= 2.57. Delete it")


@pytest.mark.parametrize(
    "script",
    [
        "serve.HTTPOptions(num_cpus=0, middlewares=[], host='0.0.0.0')",
        "serve.start(detached=True, http_options={'port': 8001})",
        "serve.deployment(num_replicas=2)(Echo)",
        "registry.deployment(version='1')",
    ],
)
def test_what_serve_takes_is_not(script: str) -> None:
    assert not converted(f"{HEAD}{script}\n").findings


def test_what_start_refuses_behind_its_keywords_is_told() -> None:
    outcome = converted(f"{HEAD}serve.start(detached=True, http_host='0.0.0.0', http_port=1, http_middlewares=[])\n")
    assert outcome.lines("RM693", Kind.MANUAL) == [3, 3, 3]
    assert 'http_options={"port": ...}' in outcome.messages[1]


@pytest.mark.parametrize("name", ["route_prefix", "max_concurrent_queries"])
@pytest.mark.parametrize("made", ["serve.deployment({}=given)(Echo)", "serve.deployment(Echo).options({}=given)"])
def test_an_argument_that_went_names_what_took_its_place(made: str, name: str) -> None:
    (message,) = converted(f"{HEAD}{made.format(name)}\n").messages
    assert {"route_prefix": ".bind()", "max_concurrent_queries": "max_ongoing_requests="}[name] in message


@pytest.mark.parametrize(
    ("use", "now"),
    [
        ("Echo.deploy()", "serve.run(X.bind(...)"),
        ("Echo.delete()", "serve.delete(name)"),  # although the class has such a method itself
        ("handle = Echo.get_handle()", "serve.get_app_handle(name)"),
        ("Echo.options(name='other').deploy('weights')", "serve.run("),
        ("print(Echo.url)", "route_prefix="),
        ("for each in [Echo]:\n    each.deploy()", "serve.run("),
    ],
)
def test_methods_that_deployments_had_are_told(use: str, now: str) -> None:
    outcome = converted(f"{HEAD}{ECHO}{use}\n")
    assert len(outcome.lines("RM723", Kind.MANUAL)) == 1
    assert now in outcome.messages[0]


@pytest.mark.parametrize(
    "made",
    [
        "@serve.deployment\ndef echo(request):\n    return 1",
        "@serve.deployment(name='echo')\nasync def echo(request):\n    return 1",
        "@serve.deployment(num_replicas=2)\n@serve.ingress(app)\nclass echo:\n    pass",
        "echo = serve.deployment(Echo)",
        "echo = serve.deployment(name='echo')(Echo)",
    ],
)
def test_however_a_deployment_is_made(made: str) -> None:
    assert len(converted(f"{HEAD}{made}\n\necho.deploy()\n").lines("RM723", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "made",
    [
        "@registry.deployment\ndef echo(request):\n    return 1",
        "@wrapped\n@serve.deployment\ndef echo(request):\n    return 1",
        "class Plain:\n    def deploy(self):\n        pass\n\n\nserve.deployment(Plain)\necho = Plain()",
        "class Plain:\n    def deploy(self):\n        pass\n\n\necho = serve.run(Plain.bind())",
    ],
)
def test_what_may_be_something_else_has_methods_of_its_own(made: str) -> None:
    assert not converted(f"{HEAD}{made}\n\necho.deploy()\n").findings


@pytest.mark.parametrize(
    ("use", "rules"),
    [
        ("from app import Echo\n\nEcho.deploy()", {"RM723"}),
        ("import app\n\napp.Echo.get_handle()", {"RM723"}),
        ("from app import Echo\n\nEcho.options(version='2').deploy()", {"RM697", "RM723"}),
        ("from app import Plain\n\nPlain().deploy()\nPlain.options(version=1)", set()),
    ],
)
def test_deployments_of_another_file(tmp_path: Path, use: str, rules: set[str]) -> None:
    (tmp_path / "app.py").write_text(f"{HEAD}{ECHO}\n{PLAIN}")
    (tmp_path / "start.py").write_text(f"import ray\n{use}\n\nray.init()\n")
    outcome = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert {code for code in ("RM693", "RM697", "RM723") if f"{code} manual" in outcome.stdout} == rules


def test_what_deployments_have_today_is_not_told() -> None:
    use = "serve.run(Echo.options(name='e', num_replicas=2).bind(), name='e', route_prefix='/e')\nserve.delete('e')\n"
    assert not converted(HEAD + ECHO + use + "print(Echo.name, Echo.user_config)\n").findings
