"""`abjudge.toml`: what a person need not type every time."""

import difflib
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from abjudge.adapters.prompt_files import read_text
from abjudge.domain.errors import InputError
from abjudge.domain.values import Value

FILE = "abjudge.toml"


class Config(Value):
    """The file's keys. Each stands for the option of the same name; the command line wins over it.

    `families` declares lineages by model name, `keys` holds API keys by the name of their environment variable.
    """

    # `both_orders = "yes"` is a mistake and not a truth.
    model_config = ConfigDict(strict=True)

    producer: str | None = None
    judge: str | list[str] | None = None
    scaffold: str | list[str] | None = None
    api_base: str | None = None
    judge_api_base: str | None = None
    both_orders: bool | None = None
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    retries: int | None = None
    allow_same_family: bool | None = None
    producer_system: str | None = None
    scaffolded_system: str | None = None
    judge_system: str | None = None
    families: dict[str, str] = {}  # noqa: RUF012 pydantic copies the default for every value
    keys: dict[str, str] = {}  # noqa: RUF012


def read_config(path: Path | None) -> tuple[Config, Path | None]:
    """The named file, or `abjudge.toml` in the working folder where there is one, and which it was."""
    chosen = path or Path(FILE)
    if path is None and not chosen.exists():
        return Config(), None
    text = "" if _is_empty(chosen) else read_text(chosen, what="the config file")
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("bad_config", None, f"{chosen} is not TOML: {error}.") from error
    _refuse_unknown(table, chosen, text)
    try:
        return Config.model_validate(table), chosen
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = str(first["loc"][0])
        line = _line_of(key, text)
        where = f"{chosen}, line {line}" if line else str(chosen)
        raise InputError("bad_config", line, f"{where}: {key}: {first['msg']}, got {table[key]!r}.") from error


def _is_empty(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == 0


def _refuse_unknown(table: dict[str, Any], path: Path, text: str) -> None:
    for key in table:
        if key not in Config.model_fields:
            close = difflib.get_close_matches(key, Config.model_fields, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(Config.model_fields)}."
            line = _line_of(key, text)
            where = f"{path}, line {line}" if line else str(path)
            raise InputError("unknown_key", line, f"{where}: unknown key {key!r}.", hint=hint)


def _line_of(key: str, text: str) -> int | None:
    name = key.split(".")[0]
    lines = (n for n, line in enumerate(text.splitlines(), 1) if line.strip().lstrip("[").startswith(name))
    return next(lines, None)
