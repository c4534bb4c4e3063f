"""A Tuner over a trainer is converted or told, however the trainer gets to it."""

import ast

import pytest

from raymigrate.base.findings import Kind
from raymigrate.facts.ray_tune.tuners import entries, is_named_first
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult

HEAD = """
from ray import tune
from ray.air import ScalingConfig
from ray.train.huggingface import AccelerateTrainer

def loop(config):
    print(config)

def made(workers=2):
    return AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=workers))

"""
TRAINER = "AccelerateTrainer(loop, accelerate_config={}, scaling_config=ScalingConfig(num_workers=2))"


def rule_405(text: str) -> list[Kind]:
    return [finding.kind for finding in convert(HEAD + text).findings if finding.code == "RM405"]


@pytest.mark.parametrize(
    "text",
    [
        f"tune.Tuner({TRAINER}).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(trainable=trainer).fit()",
        f"trainer = {TRAINER}\ntrainer.fit()\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = None\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer: AccelerateTrainer\ntrainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"def search():\n    trainer = {TRAINER}\n    tune.Tuner(trainer).fit()\ntrainer = 1",
        "tune.Tuner(made()).fit()",
        "trainer = made(4)\ntune.Tuner(trainer).fit()",
    ],
)
def test_a_trainer_in_sight_is_converted(text: str) -> None:
    assert rule_405(text) == [Kind.CONVERTED]


@pytest.mark.parametrize(
    "text",
    [
        f"trainer = {TRAINER}\nif big:\n    trainer = {TRAINER}\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER}\nif big:\n    trainer = objective\ntune.Tuner(trainer).fit()",
        f"trainer = {TRAINER} if big else objective\ntune.Tuner(trainer).fit()",
        "made()\ntune.Tuner(made()).fit()",
        "trainer = made(4)\nprint(trainer)\ntune.Tuner(trainer).fit()",
        f"def search(trainer):\n    tune.Tuner(trainer).fit()\nsearch({TRAINER})",
        f"class Job:\n    trainer = {TRAINER}\ntune.Tuner(Job.trainer).fit()",
        f"class Job:\n    def a(self): self.trainer = {TRAINER}\n    def b(self): tune.Tuner(self.trainer).fit()",
        f"trainers = {{'a': {TRAINER}}}\ntune.Tuner(trainers['a']).fit()",
        f"trainers = [{TRAINER}]\ntune.Tuner(trainers[0]).fit()",
        f"trainer = {TRAINER}\ntune.Tuner(tune.with_resources(trainer, {{}})).fit()",
        f"trainer = {TRAINER}\ntune.run(trainer)",
        f"trainer = {TRAINER}\ndef search():\n    tune.Tuner(trainer).fit()\ntrainer = {TRAINER}\nsearch()",
    ],
)
def test_a_trainer_that_comes_another_way_is_told(text: str) -> None:
    assert rule_405(text) == [Kind.MANUAL]


@pytest.mark.parametrize("text", ["tune.Tuner(loop).fit()", "tune.Tuner(unknown).fit()", "def f(t): tune.Tuner(t)"])
def test_nothing_is_told_of_what_is_no_trainer(text: str) -> None:
    assert rule_405(text) == []


LIMITED = """
from ray.tune.search import BasicVariantGenerator, ConcurrencyLimiter, Searcher
{before}
trainer = {trainer}
tune.Tuner(trainer, tune_config=tune.TuneConfig({arguments})).fit()
"""


def limited(before: str, arguments: str) -> FileResult:
    return convert(HEAD + LIMITED.format(before=before, trainer=TRAINER, arguments=arguments))


@pytest.mark.parametrize(
    ("before", "arguments", "number", "search"),
    [
        ("s = ConcurrencyLimiter(Searcher(), max_concurrent=4)", "search_alg=s", "4", "search_alg=s,"),
        ("s = Searcher()\ns = ConcurrencyLimiter(s, 4)", "search_alg=s", "4", "search_alg=s,"),
        ("", "search_alg=ConcurrencyLimiter(Searcher(), 4)", "4", "search_alg=Searcher(),"),
        (
            "n = int(input())\ns = ConcurrencyLimiter(searcher=Searcher(), max_concurrent=n)",
            "search_alg=s",
            "n",
            "search_alg=s,",
        ),
    ],
)
def test_a_limiter_becomes_the_number_of_the_tune_config_rm405(
    before: str, arguments: str, number: str, search: str
) -> None:
    result = limited(before, arguments)
    assert [f.kind for f in result.findings if f.code == "RM405"] == [Kind.CONVERTED]
    assert result.after is not None and "ConcurrencyLimiter" not in result.after and "s = s" not in result.after
    squeezed = " ".join(result.after.split())
    assert f"max_concurrent_trials=min({number}, trials_at_once(scaling_config))" in squeezed
    assert search in squeezed and "Searcher()" in squeezed


@pytest.mark.parametrize(
    ("before", "arguments", "reason"),
    [
        ("s = ConcurrencyLimiter(Searcher(), max_concurrent=4, batch=True)", "search_alg=s", "its search_alg sets"),
        ("s = ConcurrencyLimiter(Searcher(), **options)", "search_alg=s", "its search_alg sets"),
        ("s = ConcurrencyLimiter(Searcher(), 4)\nprint(s.max_concurrent)", "search_alg=s", "its search_alg sets"),
        ("s = ConcurrencyLimiter(Searcher(), 4)", "search_alg=s, max_concurrent_trials=4", "its search_alg sets"),
        ("s = make_search()", "search_alg=s", "its search_alg sets"),
        ("s = BasicVariantGenerator(max_concurrent=2)", "search_alg=s", "BasicVariantGenerator leaves"),
        ("", 'search_alg="variant_generator"', "variant_generator leaves"),
    ],
)
def test_a_search_that_goes_its_own_way_is_told_rm405(before: str, arguments: str, reason: str) -> None:
    result = limited(before, arguments)
    (finding,) = (f for f in result.findings if f.code == "RM405")
    assert finding.kind is Kind.MANUAL and reason in finding.message
    assert result.after is None or LIMITED.split("\n")[1] in result.after


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("{'a': 1, 'b': 2}", ["a", "b"]),
        ("dict(a=1)", ["a"]),
        ("dict(given, a=1)", None),
        ("dict(**given)", None),
        ("{**given, 'a': 1}", None),
        ("make(a=1)", None),
    ],
)
def test_the_entries_of_a_search_space_are_seen_or_not(text: str, keys: list[str] | None) -> None:
    module = Module(text)
    found = entries(module, module.tree.body[0].value)  # type: ignore[attr-defined]
    assert (None if found is None else list(found)) == keys


@pytest.mark.parametrize(
    ("text", "is_first"),
    [("RunConfig()", True), ("RunConfig('a')", True), ("RunConfig('a', 'b')", False), ("RunConfig(*a)", False)],
)
def test_the_name_alone_is_first_in_every_version(text: str, is_first: bool) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert is_named_first(call) is is_first
