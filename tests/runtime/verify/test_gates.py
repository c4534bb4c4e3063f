"""Each gate passes equal runs, and fails runs that differ in what it looks at: nothing else moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raymigrate.runtime.verify.compare import compare, compare_all, pair_of
from raymigrate.runtime.verify.results import Comparison, Status
from raymigrate.runtime.verify.trace import Batch
from tests.runtime.verify.runs import killed, made_up, trial

OLD = {"torch": "2.13.0", "transformers": "4.30.2", "accelerate": "0.20.3"}


def compared(**changes: Any) -> Comparison:
    """An arm B, and an arm C that is changed."""
    return compare(pair_of("B", "C", [made_up("B"), made_up("C", **changes)]), "the conversion")


def failed_gates(comparison: Comparison) -> list[str]:
    return [gate.name for gate in comparison.gates if gate.status is Status.FAIL]


def causes(comparison: Comparison) -> list[str]:
    return [cause.name for cause in comparison.causes]


def test_equal_runs_pass_every_gate_that_can_be_asked() -> None:
    comparison = compared()
    statuses = {gate.name: gate.status for gate in comparison.gates}
    assert statuses.pop("self") is statuses.pop("failure") is Status.NOT_APPLICABLE
    assert set(statuses.values()) == {Status.PASS}
    assert comparison.status is Status.PASS
    assert comparison.causes == ()


@pytest.mark.parametrize(
    ("changes", "gate", "cause"),
    [
        ({"padding": 12}, "contract", "another collator or padding"),
        ({"batch": 4, "steps": 4, "reported": (2, 4)}, "contract", "another batch size"),
        ({"order": (3, *range(3), *range(4, 16))}, "contract", "rows in another order"),
        ({"order": tuple(i % 8 for i in range(16))}, "contract", "rows are missing"),
        ({"rates": (1e-3, 5e-4, *[0.0] * 6)}, "contract", "the learning rate reaches zero early"),
        ({"rates": (1e-3,) * 8}, "contract", "another learning rate schedule"),
        ({"optimizer": "SGD"}, "contract", "another optimizer"),
        ({"attention": "sdpa", "scale": 1.001}, "course", "another attention implementation"),
        ({"initial": "other"}, "start", None),
        ({"scale": 2.0}, "course", "loss scaled by the number of workers"),
        ({"norm_scale": 0.5, "final": "other"}, "course", "loss scaled by the number of workers"),
        ({"final": "other"}, "end", None),
        ({"final_of_rank": True}, "end", "workers trained without each other"),
        ({"evaluated": 5}, "evaluation", "evaluation rows split away"),
        ({"counted": 20, "eval_loss": 0.76}, "evaluation", "evaluation rows counted several times"),
        ({"eval_loss": 0.76}, "evaluation", None),
        ({"reported": (4,)}, "outcome", "the final checkpoint is missing"),
        ({"reported": (), "checkpoint": False}, "outcome", "the final checkpoint is missing"),
        ({"score": 2.0}, "outcome", None),
        ({"kept": 1}, "outcome", None),
        ({"failures": 1}, "contract", "other failures or checkpoints are asked for"),
        ({"clipped": 1.0}, "contract", "gradients are clipped otherwise"),
        ({"batch": 3, "steps": 6, "reported": (3, 6)}, "contract", "another batch size"),
        ({"of_training": True}, "evaluation", "training rows are evaluated"),
        ({"never_evaluates": True}, "evaluation", "the evaluation runs in training mode"),
        ({"files_of_rank": True}, "outcome", "every worker writes the checkpoint"),
        ({"held": "w8"}, "outcome", "a checkpoint holds the weights of an earlier step"),
        ({"held_by_step": 0}, "outcome", "a checkpoint holds the weights of an earlier step"),
        ({"steps": 7, "reported": (4, 7)}, "contract", "another number of batches"),
        ({"evaluated": 0}, "evaluation", "the evaluation is missing"),
        ({"scale": 0.25, "final": "other"}, "course", "the loss is scaled"),
        ({"scale": 3.0}, "course", "the loss is scaled"),
        ({"scale": 1.3}, "course", "another loss"),
        ({"norms": (1.5, *[2.5] * 7)}, "course", "gradients of the step before remain"),
        ({"dead": True}, "alive", None),
    ],
)
def test_a_difference_fails_its_gate_and_gets_its_name(changes: dict[str, Any], gate: str, cause: str | None) -> None:
    comparison = compared(**changes)
    assert gate in failed_gates(comparison)
    assert comparison.status is Status.FAIL
    if cause is not None:
        assert cause in causes(comparison)


@pytest.mark.parametrize(
    "changes", [{"scale": 2.0}, {"evaluated": 5}, {"reported": (4,)}, {"prefix": "m."}, {"kept": 1}]
)
def test_a_difference_fails_no_gate_that_does_not_look_at_it(changes: dict[str, Any]) -> None:
    assert len(failed_gates(compared(**changes))) == 1


def test_rows_that_come_in_the_same_order_in_each_pass_are_not_shuffled() -> None:
    shuffled = (*range(16), *(number * 5 % 16 for number in range(16)))
    runs = [made_up("B", order=shuffled), made_up("C")]
    assert causes(compare(pair_of("B", "C", runs), "it"))[:1] == ["rows are not shuffled"]
    assert "rows are not shuffled" not in causes(compare(pair_of("B", "C", [made_up("B"), runs[1]]), "it"))


def test_a_loss_that_is_scaled_by_as_many_workers_as_batches_gets_both_names() -> None:
    left, right = made_up("B"), made_up("C", scale=0.5)
    for run in (left, right):
        for attempts in run.trace.ranks.values():
            attempts[0].steps = [replace(step, batches=step.batches * 2) for step in attempts[0].steps]
    found = causes(compare(pair_of("B", "C", [left, right]), "it"))
    assert found == ["loss scaled by the number of workers or of accumulated batches"]


def test_other_rows_are_told_where_nothing_else_is_known() -> None:
    other = made_up("C", order=(*range(4), *(number + 20 for number in range(12))))
    found = causes(compare(pair_of("B", "C", [made_up("B", order=(*range(16), 30, 31, 1, 2)), other]), "it"))
    assert found == ["other rows"]


def test_steps_of_other_batches_are_not_rows_in_another_order() -> None:
    """As where gradient_accumulation_steps is lost."""
    accumulated, each = made_up("B"), made_up("C")
    for attempts in accumulated.trace.ranks.values():
        steps = attempts[0].steps
        pairs = [(steps[number], steps[number + 1]) for number in range(0, len(steps), 2)]
        attempts[0].steps = [replace(a, batches=a.batches + b.batches) for a, b in pairs]
    comparison = compare(pair_of("B", "C", [accumulated, each]), "the conversion")
    assert "contract" in failed_gates(comparison)
    assert "rows in another order" not in causes(comparison)


def test_a_run_that_made_no_step_is_dead() -> None:
    comparison = compare(pair_of("B", "C", [made_up("B"), made_up("C", begin=8)]), "the conversion")
    assert "alive" in failed_gates(comparison)


def test_two_dead_runs_are_equal_and_fail_all_the_same() -> None:
    comparison = compare(pair_of("B", "C", [made_up("B", dead=True), made_up("C", dead=True)]), "the conversion")
    assert failed_gates(comparison) == ["alive"]


def test_a_repetition_that_differs_fails_the_self_gate() -> None:
    runs = [made_up("B"), made_up("B2", scale=1.5), made_up("C")]
    assert failed_gates(compare(pair_of("B", "C", runs), "the conversion")) == ["self"]


def test_a_repetition_that_is_equal_passes_the_self_gate() -> None:
    runs = [made_up("B"), made_up("B2"), made_up("C"), made_up("C2")]
    gate = compare(pair_of("B", "C", runs), "the conversion").gates[0]
    assert [check.name for check in gate.checks] == ["B2 against B", "C2 against C"]
    assert gate.status is Status.PASS


def test_resuming_at_the_same_step_passes_the_failure_gate() -> None:
    runs = [made_up("B"), made_up("C"), killed("B-killed", 4), killed("C-killed", 4)]
    assert failed_gates(compare(pair_of("B", "C", runs), "the conversion")) == []


def test_beginning_anew_fails_the_failure_gate_alone() -> None:
    runs = [made_up("B"), made_up("C"), killed("B-killed", 4), killed("C-killed", 0, final="other")]
    comparison = compare(pair_of("B", "C", runs), "the conversion")
    assert failed_gates(comparison) == ["failure"]
    assert "the checkpoint is not resumed from" in causes(comparison)


def test_beginning_anew_with_the_saved_weights_is_told_from_beginning_anew() -> None:
    anew = killed("C-killed", 0, final="other")
    for attempts in anew.trace.ranks.values():
        attempts[-1].model["weights"] = {"a": "w4", "b": "w4"}
    runs = [made_up("B"), made_up("C"), killed("B-killed", 4), anew]
    assert causes(compare(pair_of("B", "C", runs), "it")) == ["the training begins anew with the saved weights"]


def test_a_killed_run_that_did_not_start_again_fails_the_failure_gate() -> None:
    once = replace(made_up("C-killed"))
    runs = [made_up("B"), made_up("C"), killed("B-killed", 4), once]
    gate = compare(pair_of("B", "C", runs), "the conversion").gates[-2]
    assert gate.status is Status.FAIL
    assert gate.checks[0].figures == "C-killed did not start again"


def alone(resumed_behind: int, **changes: Any) -> Comparison:
    """A plain original, which has no Ray, against a conversion in which a worker was killed."""
    return compare(pair_of("P", "C", [made_up("P"), made_up("C"), killed("C-killed", resumed_behind, **changes)]), "it")


def test_without_ray_before_the_conversion_has_to_end_as_if_nobody_had_died() -> None:
    gate = alone(4).gates[-2]
    assert gate.status is Status.PASS
    assert gate.checks[0].figures == "behind step 4, and the last checkpoint was that of step 4"
    assert failed_gates(alone(4, final="other")) == ["failure"]


def test_without_ray_before_beginning_anew_fails_where_there_is_a_checkpoint() -> None:
    comparison = alone(0)
    assert failed_gates(comparison) == ["failure"]
    assert causes(comparison) == ["the checkpoint is not resumed from"]


def test_weights_that_are_loaded_without_the_state_of_the_optimizer_are_named() -> None:
    original, anew = killed("B-killed", 4, goes_on=True), killed("C-killed", 4, final="other")
    comparison = compare(pair_of("B", "C", [made_up("B"), made_up("C"), original, anew]), "the conversion")
    assert failed_gates(comparison) == ["failure"]
    assert causes(comparison) == ["the optimizer begins anew"]
    state = {"optimizer.pt: step": 8}
    runs = [made_up("P"), made_up("C", training=state), killed("C-killed", 4, final="other")]
    assert causes(compare(pair_of("P", "C", runs), "it")) == ["the optimizer begins anew"]


@pytest.mark.parametrize(
    ("kept", "found"), [((4, 4, 2), "incomplete batches are dropped"), ((4, 4), "incomplete batches are kept")]
)
def test_the_last_batch_of_a_pass_is_kept_or_dropped(kept: tuple[int, ...], found: str) -> None:
    whole = {"batch": 4, "steps": 4}
    short = made_up("C", **whole)
    for attempts in short.trace.ranks.values():
        last = attempts[0].steps[-1]
        [seen] = last.batches
        attempts[0].steps.append(replace(last, batches=(replace(seen, rows=seen.rows[:2]),)))
    runs = [made_up("B", **whole), short] if len(kept) == 2 else [replace(short, name="B"), made_up("C", **whole)]
    assert found in causes(compare(pair_of("B", "C", runs), "the conversion"))


def test_rows_in_the_order_of_the_first_epoch_after_a_failure_are_named() -> None:
    epochs = (*range(16), *reversed(range(16)))
    runs = [made_up("P", order=epochs), made_up("C", order=epochs)]
    right, wrong = killed("C-killed", 4, order=epochs), killed("C-killed", 4, order=tuple(range(16)), final="other")
    assert causes(compare(pair_of("P", "C", [*runs, right]), "it")) == []
    assert causes(compare(pair_of("P", "C", [*runs, wrong]), "it")) == [
        "after the failure the rows come in the order of the first epoch"
    ]


@pytest.mark.parametrize(
    ("step", "trained", "failed"), [(8, False, []), (8, True, ["evaluation"]), (4, False, ["evaluation"])]
)
def test_a_pipeline_behind_the_training_of_a_plain_script_evaluates_nothing(
    step: int, trained: bool, failed: list[str]
) -> None:
    plain = made_up("P")
    plain = replace(plain, arm=replace(plain.arm, processes=2))
    plain.trace.first_rank.evaluation_batches.append((step, Batch({}, ("What a film!",), None, trained)))
    assert failed_gates(compare(pair_of("P", "C", [plain, made_up("C")]), "it")) == failed


def test_metrics_are_compared_of_every_report_and_not_only_of_the_last() -> None:
    other = made_up("C")
    for attempts in other.trace.ranks.values():
        attempts[-1].reports[0]["metrics"]["score"] = 3.0
    comparison = compare(pair_of("B", "C", [made_up("B"), other]), "the conversion")
    found = [check for gate in comparison.gates for check in gate.checks if check.status is Status.FAIL]
    assert [(check.name, check.figures) for check in found] == [("metrics of each report", "score: 4.0 and 3.0")]


def test_checkpoints_kept_are_not_compared_between_two_versions_of_ray() -> None:
    runs = [made_up("A", versions={**OLD, "ray": "2.6.3"}), made_up("C", kept=1, versions={**OLD, "ray": "2.60.0"})]
    assert failed_gates(compare(pair_of("A", "C", runs), "the whole migration")) == []


def test_metrics_reported_without_a_checkpoint_are_named() -> None:
    nothing_stored = {"stored": False, "checkpoint": False}
    runs = [made_up("B", **nothing_stored), made_up("C", metrics=False, **nothing_stored)]
    comparison = compare(pair_of("B", "C", runs), "the conversion")
    assert failed_gates(comparison) == ["outcome"]
    assert causes(comparison) == ["metrics without a checkpoint are not kept"]


def test_metrics_that_are_not_kept_are_explained_where_the_script_does_not_read_them() -> None:
    nothing_stored = {"stored": False, "checkpoint": False, "read": False}
    runs = [made_up("B", **nothing_stored), made_up("C", metrics=False, **nothing_stored)]
    comparison = compare(pair_of("B", "C", runs), "the conversion")
    assert comparison.status is Status.EXPLAINED
    assert causes(comparison) == ["metrics without a checkpoint are not kept"]


@pytest.mark.parametrize("changes", [{"reported": (4,)}, {"score": 2.0}])
def test_reports_without_a_checkpoint_are_compared_in_a_loop_of_the_user(changes: dict[str, Any]) -> None:
    nothing_stored = {"stored": False, "checkpoint": False, "read": False}
    runs = [made_up("B", **nothing_stored), made_up("C", metrics=False, **nothing_stored, **changes)]
    assert failed_gates(compare(pair_of("B", "C", runs), "the conversion")) == ["outcome"]


def searched(*trials: dict[str, Any], scheduler: str | None = None) -> dict[str, Any]:
    return {"scheduler": scheduler, "trials": list(trials)}


@pytest.mark.parametrize(
    ("trials", "scheduler", "status"),
    [
        ((trial(0.1, workers=2), trial(0.2, workers=2)), None, Status.PASS),  # the same in all trials of B
        ((trial(0.1), trial(0.3)), None, Status.FAIL),
        ((trial(0.1), trial(0.2, loss=0.6)), None, Status.FAIL),
        ((trial(0.1), trial(0.2, stored="w8")), None, Status.FAIL),
        ((trial(0.1), trial(0.2, stored=None)), None, Status.FAIL),
        ((trial(0.1),), None, Status.FAIL),
        ((trial(0.1), trial(0.2, reports=1, loss=0.9)), None, Status.FAIL),
        ((trial(0.1), trial(0.2, reports=1, loss=0.9)), "FIFOScheduler", Status.FAIL),
        ((trial(0.1), trial(0.2, reports=1, loss=0.9)), "ASHAScheduler", Status.EXPLAINED),
        ((trial(0.1, loss=0.6), trial(0.2, reports=1)), "ASHAScheduler", Status.FAIL),
    ],
)
def test_the_trials_of_a_tuner_are_compared(
    trials: tuple[dict[str, Any], ...], scheduler: str | None, status: Status
) -> None:
    original = searched(trial(0.1, workers=2), trial(0.2, workers=2), scheduler=scheduler)
    runs = [made_up("B", search=original), made_up("C", search=searched(*trials, scheduler=scheduler))]
    assert compare(pair_of("B", "C", runs), "the conversion").status is status


def test_drift_of_the_libraries_is_explained_within_its_bound_only() -> None:
    near, far = made_up("C", scale=1 + 1e-7), made_up("C", scale=1 + 1e-3)
    original = made_up("A", versions=OLD)
    explained = compare(pair_of("A", "C", [original, near]), "the whole migration")
    assert explained.status is Status.EXPLAINED
    assert "the loss is summed in another order" in causes(explained)
    assert failed_gates(compare(pair_of("A", "C", [original, far]), "the whole migration")) == ["course"]


def test_the_same_difference_is_not_explained_on_equal_libraries() -> None:
    assert failed_gates(compared(scale=1 + 1e-7)) == ["course"]


def test_rows_that_the_old_trainer_lost_are_explained() -> None:
    runs = [made_up("A", versions=OLD, counted=8, eval_loss=0.74), made_up("C")]
    comparison = compare(pair_of("A", "C", runs), "the whole migration")
    assert failed_gates(comparison) == []
    assert "the old trainer lost evaluation rows" in causes(comparison)


def test_rows_that_the_conversion_lost_are_not_explained() -> None:
    runs = [made_up("A", versions=OLD), made_up("C", counted=8, eval_loss=0.74)]
    assert "evaluation" in failed_gates(compare(pair_of("A", "C", runs), "the whole migration"))


def test_every_pair_of_the_arms_that_ran_is_compared_once() -> None:
    runs = [made_up(letter) for letter in "AOBC"] + [made_up("C2")]
    pairs = [comparison.left + comparison.right for comparison in compare_all(runs)]
    assert pairs == ["AO", "BC", "OC", "AB", "AC"]
