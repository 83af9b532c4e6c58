"""What every noun is made of: frozen, closed, and equal to itself after a round trip through JSON."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen record. Unknown keys are refused; `with_` makes a changed copy and validates it."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False, ser_json_inf_nan="null")

    def with_(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated like a new one."""
        return type(self).model_validate({**dict(self), **changes})
