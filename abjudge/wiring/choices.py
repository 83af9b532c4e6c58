"""What a person chose, before anything of it exists."""

from abjudge.adapters.config_file import Config
from abjudge.domain.values import Value


class Choices(Value):
    """What a person chose for a comparison. None means: not said, so the config file or a default decides."""

    producer: str | None = None
    judges: tuple[str, ...] = ()
    scaffolds: tuple[str, ...] = ()
    api_base: str | None = None
    judge_api_base: str | None = None
    both_orders: bool | None = None
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    retries: int | None = None
    allow_same_family: bool | None = None
    producer_family: str | None = None
    judge_family: str | None = None
    producer_system: str | None = None
    scaffolded_system: str | None = None
    judge_system: str | None = None

    def over(self, config: Config) -> "Choices":
        """These choices, with the config file's where nothing was said."""
        table = config.model_dump(exclude={"families", "keys"}, exclude_none=True)
        renamed = {"judge": "judges", "scaffold": "scaffolds", "timeout": "timeout_s"}
        said = {k: v for k, v in dict(self).items() if v not in (None, ())}
        from_file = {
            renamed.get(k, k): (v,) if k in ("judge", "scaffold") and isinstance(v, str) else v
            for k, v in table.items()
        }
        return Choices.model_validate({**from_file, **said})
