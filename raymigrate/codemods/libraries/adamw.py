"""RM712: the AdamW of transformers, which takes other steps than the one of torch.

Both divide the mean of the gradients by the root of the mean of their squares. transformers 4 added eps to that root
before it corrected the bias of the means, torch adds it afterwards (transformers 4.30.2, optimization.py:442-455; torch
2.13, optim/adam.py). In torch's terms the old eps was `eps / sqrt(1 - beta2**step)`, 32 times as much at the first step
and 3 times at the hundredth: docs/semantics/libraries.md#adamw. No argument of torch's class makes up for that.
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.helpers import take, top_level
from raymigrate.codemods.shared.moves import drop_unused
from raymigrate.edits.plan import Code
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument, has_unpacking, keyword_argument
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.legacy import HF_TRAINERS

RM712 = Rule(
    "RM712",
    "transformers.AdamW",
    "transformers >= 5 has no AdamW. torch.optim.AdamW with the same arguments takes longer steps at first, since it"
    " adds eps in another place: with eps=1e-6 and gradients of 3e-5 the first step is twice as long, the hundredth"
    " 7 % longer. It has other defaults for eps and weight_decay, and no correct_bias=False.",
    "The old class is written into the script, so that training is as before. For a new job take torch.optim.AdamW.",
    "https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html",
    errors=(*gone_names("transformers", "AdamW"), *gone_names("transformers.optimization", "AdamW")),
)
NAMES = ("transformers.AdamW", "transformers.optimization.AdamW")

# The step of transformers 4.30.2, operation by operation: the weights are the same to the last bit.
ADAMW = Helper(
    "AdamW",
    '''
class $name(torch.optim.Optimizer):
    """AdamW of transformers 4: it adds eps before it corrects the bias, so its first steps are shorter than torch's."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, correct_bias=True, **ignored):
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "correct_bias": correct_bias}
        super().__init__(params, options)

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state.update(step=0, exp_avg=torch.zeros_like(weight), exp_avg_sq=torch.zeros_like(weight))
                state["step"] += 1
                state["exp_avg"].mul_(beta1).add_(weight.grad, alpha=1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(weight.grad, weight.grad, value=1 - beta2)
                size = group["lr"]
                if group["correct_bias"]:
                    size = size * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
                weight.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]), value=-size)
                if group["weight_decay"] > 0:
                    weight.add_(weight, alpha=-group["lr"] * group["weight_decay"])
        return loss
''',
    (("math", None), ("torch", None)),
)
# What `optim="adamw_hf"` made of the arguments (4.30.2, trainer.py:1150-1161); the Trainer sets the weight decay.
OPTIMIZER = """\
(
    {name},
    {{"lr": $args.learning_rate, "betas": ($args.adam_beta1, $args.adam_beta2), "eps": $args.adam_epsilon}},
)"""
MESSAGE = (
    "transformers has no AdamW today, and torch.optim.AdamW takes longer first steps; now the old class, in this file."
)


@codemod("AdamW")
def adamw(context: Context) -> None:
    """Lets a script have the class that transformers had: by the name that the import gave it, where it had one."""
    converted, kept = list[Reference](), set[str]()
    for reference in context.references(*NAMES):
        if reference.qualified in NAMES and context.converts(RM712, reference.node, MESSAGE):
            converted.append(reference)
        else:
            kept.add(reference.root.id)
    homes: dict[ast.stmt | None, list[Reference]] = {}
    for reference in converted:
        homes.setdefault(_home(context, reference.binding.statement, converted), []).append(reference)
    for imported, uses in homes.items():
        names = (use.root.id for use in uses if isinstance(use.node, ast.Name) and use.root.id not in kept)
        _write(context, imported, uses, next((name for name in names if _is_free(context.module, name)), ""))
    for name in NAMES:
        drop_unused(context, RM712, name)


def keep_in_trainers(context: Context, arguments: ast.Call) -> bool:
    """Lets Trainers have the optimizer that `optim="adamw_hf"` meant.

    Args:
        context: The module.
        arguments: The TrainingArguments that ask for it.

    Returns:
        Whether a Trainer that takes them is seen, and has got it.
    """
    module = context.module
    given = [(call, argument(call, 1, "args")) for call in module.calls(*HF_TRAINERS)]
    users = [(call, args) for call, args in given if args is not None and _comes_from(module, args, arguments)]
    if not users or not all(isinstance(args, ast.Name) and _takes_optimizer(call) for call, args in users):
        return False
    reference = module.reference_at[users[0][0].func]
    name = _written(context, _home(context, reference.binding.statement, []), reference.node)
    for call, args in users:
        context.plan.call(call).set("optimizer_cls_and_kwargs", OPTIMIZER.format(name=name), args=args)
    return True


def _comes_from(module: Module, args: ast.expr, arguments: ast.Call) -> bool:
    return [source.node for source in module.origins(args)] == [arguments]


def _takes_optimizer(call: ast.Call) -> bool:
    """Whether a Trainer is seen to be given no optimizer."""
    return not has_unpacking(call) and keyword_argument(call, "optimizers", "optimizer_cls_and_kwargs") is None


def _home(context: Context, imported: ast.stmt | None, others: list[Reference]) -> ast.stmt | None:
    """The import beside which the class has to be, in a function: where the module itself does without torch."""
    has_torch = "torch" in context.module.scope(context.module.tree).bindings
    at_top = any(context.nested(other.binding.statement) is None for other in others)
    return None if has_torch or at_top else context.nested(imported)


def _is_free(module: Module, name: str) -> bool:
    """Whether a name stands for the AdamW of transformers wherever it is bound."""
    bound = [binding for scope in module.scopes for binding in scope.bindings.get(name, ())]
    return all(binding.qualified in NAMES for binding in bound)


def _write(context: Context, imported: ast.stmt | None, uses: list[Reference], name: str) -> None:
    """Writes the class before its first use.

    Args:
        imported: The import beside which it goes, if that is in a function.
        uses: The references that go by it.
        name: The name that they have for it already; empty if there is none to be kept.
    """
    name = _written(context, imported, uses[0].node, name)
    for use in uses:
        if not isinstance(use.node, ast.Name) or use.root.id != name:
            context.replace_reference(use, name)
            continue
        context.handle(use, gone=True)
        statement, alias = use.binding.statement, use.binding.node
        if isinstance(statement, ast.ImportFrom) and isinstance(alias, ast.alias) and alias.name != "*":
            context.plan.drop_import(alias, statement)  # also where other files import it from here


def _written(context: Context, imported: ast.stmt | None, user: ast.AST, name: str = "") -> str:
    """Writes the class before what uses it, once for each place; gives its name."""
    if ("AdamW", imported) not in context.emitted:
        name, source = take(context, ADAMW, nested=imported, name=name, users=[user])
        context.emitted["AdamW", imported] = name
        if source:
            place = top_level(context.module, user) if imported is None else _beside(context.module, imported, user)
            context.plan.statement(place).before.insert(0, Code(source))
    return context.emitted["AdamW", imported]


def _beside(module: Module, imported: ast.stmt, use: ast.AST) -> ast.stmt:
    """The statement that has a use, in the block of the import that the use goes by."""
    block = module.parent_of[imported]
    around = [use, *module.ancestors(use)]
    found = around[around.index(block) - 1] if block in around else module.statement(use)
    assert isinstance(found, ast.stmt)
    return found
