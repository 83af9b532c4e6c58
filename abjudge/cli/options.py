"""The options that commands share, each said once, and how a command takes a group of them."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

Out = Annotated[Path | None, Option(help="New folder to keep the run in.")]
ConfigFile = Annotated[Path | None, Option(help="Settings, instead of abjudge.toml in the working folder.")]
Json = Annotated[bool, Option("--json", help="Print one JSON document.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Fetch small models without asking.")]
Debug = Annotated[bool, Option("--debug", help="Show tracebacks.")]
RunFolder = Annotated[Path, typer.Argument(help="A run folder, as kept by --out.")]

Group = dict[str, tuple[str, Any, Any]]
"""By parameter: the field of the choices that it fills, its type with its option, and its default."""

EVALUATOR: Group = {
    "judge": (
        "judges",
        Annotated[list[str] | None, Option(help="Judge of another family, or human. Repeatable.")],
        None,
    ),
    "judge_api_base": ("judge_api_base", Annotated[str | None, Option(help="Address of the judge's server.")], None),
    "judge_family": (
        "judge_family",
        Annotated[str | None, Option(help="Family of a judge that the table does not know.")],
        None,
    ),
    "judge_system": ("judge_system", Annotated[str | None, Option(help="Path of the judge's system prompt.")], None),
    "producer_family": (
        "producer_family",
        Annotated[str | None, Option(help="Family of a producer that the table does not know.")],
        None,
    ),
    "allow_same_family": (
        "allow_same_family",
        Annotated[
            bool | None,
            Option("--allow-same-family", help="Declare the conflict of a judge from the producer's house."),
        ],
        None,
    ),
    "seed": (
        "seed",
        Annotated[int | None, Option(min=0, help="Seed of the blinding and of the models; drawn if not given.")],
        None,
    ),
    "timeout": ("timeout_s", Annotated[float | None, Option(help="Seconds that one call may take (120).")], None),
    "retries": (
        "retries",
        Annotated[int | None, Option(min=0, help="Tries again after faults of transport (0; in a run of many 3).")],
        None,
    ),
}

PRODUCER: Group = {
    "producer": (
        "producer",
        Annotated[str | None, Option(help="Model under test: a litellm string, name:tag or embedded/NAME.")],
        None,
    ),
    "scaffold": (
        "scaffolds",
        Annotated[
            list[str] | None,
            Option(help="ejentum:MODE, file:PATH, text:STRING, http:URL or none. Repeatable; the baseline is shared."),
        ],
        None,
    ),
    "temperature": (
        "temperature",
        Annotated[float | None, Option(min=0, help="Of the producer; the provider's default if not given.")],
        None,
    ),
    "max_tokens": (
        "max_tokens",
        Annotated[int | None, Option(min=1, help="Cap of each response (2048; embedded models 256).")],
        None,
    ),
    "api_base": ("api_base", Annotated[str | None, Option(help="Address of the producer's server.")], None),
    "producer_system": (
        "producer_system",
        Annotated[str | None, Option(help="Path of a system prompt for both producers.")],
        None,
    ),
    "scaffolded_system": (
        "scaffolded_system",
        Annotated[str | None, Option(help="Path of the scaffolded producer's system prompt.")],
        None,
    ),
}

MANY: Group = {
    "limit": ("limit", Annotated[int | None, Option(min=1, help="Only the first N rows.")], None),
    "sample": ("sample", Annotated[int | None, Option(min=1, help="N rows drawn by the seed.")], None),
    "prompt_column": ("prompt_column", Annotated[str, Option(help="The column of the prompts.")], "prompt"),
    "id_column": ("id_column", Annotated[str, Option(help="The column of their names.")], "id"),
    "repeat": ("repeat", Annotated[int, Option(min=1, help="Ask and judge each row N times.")], 1),
    "order": (
        "order",
        Annotated[str | None, Option(help="swap (default): both orders; balanced: one each, half and half.")],
        None,
    ),
    "both_orders": (
        "both_orders",
        Annotated[bool | None, Option("--both-orders/--one-order", help="The same as --order swap or balanced.")],
        None,
    ),
    "panel": ("panel", Annotated[bool, Option("--panel", help="Every judge on every row, not in turns.")], False),
    "controls": ("controls", Annotated[str, Option(help="Mix in control pairs: null,placebo,degraded.")], ""),
    "concurrency": ("concurrency", Annotated[int, Option(min=1, max=1024, help="Calls at once.")], 32),
    "cap": ("caps", Annotated[list[str] | None, Option(help="PROVIDER=N: calls at once for one provider.")], None),
    "budget": ("budget", Annotated[float | None, Option(help="US dollars that are never exceeded.")], None),
    "resume": ("resume", Annotated[bool, Option("--resume", help="Go on with the run in --out.")], False),
    "retry_errors": (
        "retry_errors",
        Annotated[bool, Option("--retry-errors", help="With --resume: try failed pairs again.")],
        False,
    ),
    "engine": ("engine", Annotated[str, Option(help="Where it runs: local.")], "local"),
}


def takes(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command groups of options, each as one mapping under the group's name, ready for its choices."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        shared = {name: option for group in groups.values() for name, option in group.items()}

        def run(**given: Any) -> None:
            for name, group in groups.items():
                given[name] = {field: given.pop(option) for option, (field, _, _) in group.items()}
            command(**given)

        parameters = [p for name, p in own.parameters.items() if name not in groups]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (_, annotation, default) in shared.items()
        ]
        kinds = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
        run.__signature__ = own.replace(parameters=kinds)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in kinds}
        run.__doc__, run.__name__ = command.__doc__, command.__name__
        return run

    return decorate
