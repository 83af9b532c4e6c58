"""The options that commands share, each said once."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

Producer = Annotated[str | None, Option(help="Model under test: a litellm string, name:tag or embedded/NAME.")]
Judges = Annotated[list[str] | None, Option(help="Judge of another family, or human. Repeatable.")]
Scaffolds = Annotated[
    list[str] | None,
    Option(help="ejentum:MODE, file:PATH, text:STRING, http:URL or none. Repeatable; the baseline is shared."),
]
BothOrders = Annotated[bool | None, Option("--both-orders/--one-order", help="Judge each pair in both orders.")]
Seed = Annotated[int | None, Option(min=0, help="Seed of the blinding and of the models; drawn if not given.")]
Temperature = Annotated[float | None, Option(min=0, help="Of the producer; the provider's default if not given.")]
MaxTokens = Annotated[int | None, Option(min=1, help="Cap of each response (2048; embedded models 256).")]
Timeout = Annotated[float | None, Option(help="Seconds that one call may take (120).")]
Retries = Annotated[int | None, Option(min=0, help="Tries again after faults of transport (0).")]
ApiBase = Annotated[str | None, Option(help="Address of the producer's server.")]
JudgeApiBase = Annotated[str | None, Option(help="Address of the judge's server.")]
AllowSameFamily = Annotated[
    bool | None, Option("--allow-same-family", help="Declare the conflict of a judge from the producer's house.")
]
ProducerFamily = Annotated[str | None, Option(help="Family of a producer that the table does not know.")]
JudgeFamily = Annotated[str | None, Option(help="Family of a judge that the table does not know.")]
ProducerSystem = Annotated[str | None, Option(help="Path of a system prompt for both producers.")]
ScaffoldedSystem = Annotated[str | None, Option(help="Path of the scaffolded producer's system prompt.")]
JudgeSystem = Annotated[str | None, Option(help="Path of the judge's system prompt.")]
Out = Annotated[Path | None, Option(help="New folder to keep the run in.")]
ConfigFile = Annotated[Path | None, Option(help="Settings, instead of abjudge.toml in the working folder.")]
Json = Annotated[bool, Option("--json", help="Print one JSON document.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Fetch small models without asking.")]
Debug = Annotated[bool, Option("--debug", help="Show tracebacks.")]
RunFolder = Annotated[Path, typer.Argument(help="A run folder, as kept by --out.")]
