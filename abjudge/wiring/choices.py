"""What a person chose, before anything of it exists."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError

from abjudge.adapters.config_file import Config
from abjudge.domain.errors import InputError
from abjudge.domain.plans import Control
from abjudge.domain.values import Value


def _option(field: str) -> str:
    names = {"judges": "judge", "scaffolds": "scaffold", "timeout_s": "timeout", "caps": "cap"}
    return "--" + names.get(field, field).replace("_", "-")


class Typed(Value):
    """Choices as a person typed them."""

    @classmethod
    def of(cls, **said: Any) -> Self:
        """InputError names the choice that cannot be."""
        said = {name: value for name, value in said.items() if value is not None}
        blank = next((name for name, value in said.items() if isinstance(value, str) and not value.strip()), None)
        if blank is not None:
            # An unset variable of the shell, most often: the default would be another call than the one that was meant.
            raise InputError(
                "bad_choice", None, f"{_option(blank)} is empty.", hint="Give it a value, or leave it out."
            )
        try:
            return cls.model_validate(said)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = _option(str(first["loc"][0]))
            if name == "--cap":
                raise InputError("bad_choice", None, "--cap: expected PROVIDER=N, such as openai=8.") from error
            raise InputError("bad_choice", None, f"{name}: {first['msg']}, got {first['input']!r}.") from error


class Choices(Typed):
    """What a person chose for a comparison. None means: not said, so the config file or a default decides.

    `given` says that the responses exist already, so that nobody produces.
    """

    producer: str | None = None
    judges: tuple[str, ...] = ()
    scaffolds: tuple[str, ...] = ()
    api_base: str | None = None
    judge_api_base: str | None = None
    both_orders: bool | None = None
    seed: int | None = Field(default=None, ge=0)
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=1)
    timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    retries: int | None = Field(default=None, ge=0)
    allow_same_family: bool | None = None
    producer_family: str | None = None
    judge_family: str | None = None
    producer_system: str | None = None
    scaffolded_system: str | None = None
    judge_system: str | None = None
    companion_judge: str | None = None
    given: bool = False

    def over(self, config: Config) -> "Choices":
        """These choices, with the config file's where nothing was said."""
        table = config.model_dump(exclude={"families", "keys"}, exclude_none=True)
        renamed = {"judge": "judges", "scaffold": "scaffolds", "timeout": "timeout_s"}
        from_file = {
            renamed.get(key, key): (value,) if key in ("judge", "scaffold") and isinstance(value, str) else value
            for key, value in table.items()
        }
        return Choices.of(**{**from_file, **{k: v for k, v in dict(self).items() if v not in (None, ())}})


class SweepChoices(Typed):
    """What a person chose for a sweep beyond a comparison's choices. `caps` are calls at once for single providers."""

    repeat: int = Field(default=1, ge=1)
    concurrency: int = Field(default=32, ge=1, le=1024)
    caps: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    controls: tuple[Control, ...] = ()
    panel: bool = False
    order: Literal["swap", "balanced"] = "swap"
    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    prompt_column: str = "prompt"
    id_column: str = "id"
    engine: Literal["local"] = "local"
    resume: bool = False
    retry_errors: bool = False
