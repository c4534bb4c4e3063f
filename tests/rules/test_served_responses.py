"""RM697: what a handle of Ray Serve answers, treated as an ObjectRef."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = """
import asyncio

import ray
from ray import serve
from own import Other


@serve.deployment
class A:
    def m(self, x):
        return x


@serve.deployment(num_replicas=2)
class B:
    def __init__(self, a, count):
        self.a = a
        self.count = count

    async def __call__(self, x):
        {body}


handle = serve.run(B.options(num_replicas=1).bind(A.bind(), count=3))
{use}
"""


def told(body: str = "pass", use: str = "", head: str = HEAD) -> int:
    return len(converted(head.format(body=body, use=use)).lines("RM697", Kind.MANUAL))


@pytest.mark.parametrize(
    "use",
    [
        "ray.get(handle.m.remote(1))",
        "ray.get(handle.remote(1), timeout=3)",
        "ref = handle.m.remote(1)\nprint(ray.get(ref))",
        "ray.get([handle.remote(i) for i in range(3)])",
        "refs = [handle.remote(1)]\nray.wait(refs)",
        "ray.get(object_refs=serve.get_app_handle('x').options(method_name='m').remote(1))",
        "from ray import get\nget(serve.get_deployment_handle('A', 'x').m.options(stream=False).remote(1))",
    ],
)
def test_a_response_that_is_given_to_ray_is_told(use: str) -> None:
    assert told(use=use) == 1


@pytest.mark.parametrize(
    ("use", "raises"),
    [
        ("ray.get(handle.remote(1))", "ray.get() of a DeploymentResponse of Serve raises a ValueError"),
        ("ray.get([handle.remote(1)])", "ray.get() of a DeploymentResponse of Serve raises a TypeError"),
        ("ray.wait([handle.remote(1)])", "ray.wait() of a DeploymentResponse of Serve raises a TypeError"),
    ],
)
def test_the_error_is_that_of_the_call(use: str, raises: str) -> None:
    assert any(message.startswith(raises) for message in converted(HEAD.format(body="pass", use=use)).messages)


@pytest.mark.parametrize(
    "use",
    [
        "handle.remote(1).result()",
        "ray.get(handle.remote(1)._to_object_ref_sync())",
        "ray.get(Other.bind().remote(1))",
        "actor = ray.remote(Other).remote()\nray.get(actor.m.remote(1))",
        "try:\n    ray.get(handle.remote(1))\nexcept ValueError:\n    handle.remote(1).result()",
        "if ray.__version__ < '2.7':\n    ray.get(handle.remote(1))",
        "handle = Other()\nray.get(handle.remote(1))",
    ],
)
def test_what_is_no_response_or_is_expected_is_left_alone(use: str) -> None:
    assert not told(use=use)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return await (await self.a.m.remote(x))", 1),
        ("ref = await self.a.m.remote(x)\n        return await ref", 1),
        ("ref = await self.a.options(method_name='m').remote(x)\n        return await ref", 1),
        ("return ray.get(self.a.m.remote(x))", 1),
        ("ref = await self.a.m.remote(x)\n        return ray.get(ref)", 1),
        ("refs = [await self.a.m.remote(i) for i in x]\n        return await asyncio.gather(*refs)", 1),
        (
            "refs = await asyncio.gather(*[self.a.m.remote(i) for i in x])\n        return await asyncio.gather(*refs)",
            1,
        ),
        ("refs = await asyncio.gather(self.a.m.remote(x))\n        return ray.get(refs)", 1),
        ("return await asyncio.gather(*[self.a.m.remote(i) for i in x])", 0),
        ("refs = await asyncio.gather(*[self.count.m.remote(i) for i in x])\n        return ray.get(refs)", 0),
        ("return await self.a.m.remote(x)", 0),
        ("ref = self.a.m.remote(x)\n        return await ref", 0),
        ("return await (await self.count.m.remote(x))", 0),
        ("return await (await self.unknown.m.remote(x))", 0),
    ],
)
def test_the_result_is_not_awaited_again(body: str, count: int) -> None:
    assert told(body) == count


def test_a_class_that_is_bound_to_something_else_too_is_not_sure() -> None:
    assert not told("return await (await self.a.m.remote(x))", "serve.run(B.bind(Other(), 1))")


def test_what_a_gone_deployment_answers_is_told() -> None:
    head = HEAD.replace("A.bind()", "{gone}").replace("from own", "from ray.serve import PredictorDeployment\nfrom own")
    for gone in ("PredictorDeployment.bind(print, 'x')", "PredictorDeployment.options(name='x').bind(print, 'x')"):
        body = "return await (await self.a.predict.remote(x))"
        assert told(head=head.replace("{gone}", gone), body=body) == 1


@pytest.mark.parametrize(
    ("first", "count"),
    [("self.a.m.remote(x)", 1), ("self.a.remote(x)", 1), ("self.made.m.remote(x)", 0), ("actor.m.remote(x)", 0)],
)
def test_a_deployment_that_is_bound_elsewhere_is_told_with_its_condition(first: str, count: int) -> None:
    head = HEAD.partition("\n\nhandle =")[0].replace("self.count = count", "self.made = Other()")
    result = converted(head.format(body=f"ref = await {first}\n        out = await ref\n        return out"))
    assert [message.startswith("Where this class is bound") for message in result.messages] == [True] * count


def test_a_declared_handle_needs_no_bind() -> None:
    head = HEAD.partition("\n\nhandle =")[0].replace("(self, a,", "(self, a: RayServeHandle,")
    body = "return await (await self.a.m.remote(x))"
    result = converted(f"from ray.serve.handle import RayServeHandle\n{head.format(body=body)}")
    assert any(message.startswith("The first await") for message in result.messages)


@pytest.mark.parametrize("kind", ["ActorHandle", "'ray.actor.ActorHandle'", "Store"])
def test_a_parameter_that_is_declared_to_be_something_else_is_no_handle(kind: str) -> None:
    head = HEAD.partition("\n\nhandle =")[0].replace("(self, a,", f"(self, a: {kind},")
    body = "return await (await self.a.m.remote(x))"
    assert not told(body, head=f"from ray.actor import ActorHandle\n{head}")


def test_a_class_that_is_no_deployment_is_left_alone() -> None:
    head = HEAD.partition("\n\nhandle =")[0].replace("@serve.deployment(num_replicas=2)\n", "")
    assert not told("return await (await self.a.m.remote(x))", head=head)


AGAIN = """
import asyncio

import ray
from ray.serve.handle import DeploymentHandle


async def go(handle: DeploymentHandle, xs):
    refs = [handle.remote(x) for x in xs]
    for _ in range(2):
        refs = await asyncio.gather(*refs)
{more}
"""


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("    return refs", "The first await gives the result today"),
        ("        print(ray.get(refs))", "The await gives the result itself today"),
    ],
)
def test_a_loop_that_gathers_what_it_gathered_is_told(more: str, message: str) -> None:
    messages = converted(AGAIN.format(more=more)).messages
    assert any(found.startswith(message) for found in messages)
