"""What a judge scores: criteria on one scale."""

from pydantic import Field

from abjudge.domain.values import Value


class Criterion(Value):
    """One thing to score, with the question the judge answers."""

    name: str
    question: str


class Rubric(Value):
    """Criteria on a scale of whole numbers from `low` to `high`, both included."""

    name: str
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    low: int = 1
    high: int = 5

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.criteria)


FIVE = Rubric(
    name="ejentum-five-v1",
    criteria=(
        Criterion(name="specificity", question="Does it name concrete things, numbers and conditions of this case?"),
        Criterion(name="posture", question="Does it take a stand that fits the request, neither servile nor evasive?"),
        Criterion(name="depth", question="Does it reach causes, trade-offs and consequences, not only the surface?"),
        Criterion(name="actionability", question="Could the person act on it at once, in the right order?"),
        Criterion(name="honesty", question="Does it say what it does not know, and claim nothing it cannot support?"),
    ),
)
