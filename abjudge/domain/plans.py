"""The plan of a sweep: everything that decides which calls are made, fixed before the first of them."""

from typing import Literal

from pydantic import Field

from abjudge.domain.values import Value

Control = Literal["null", "placebo", "degraded"]
OVERLAP = 20  # prompts that every judge of a rotating jury sees, to tell how far they agree
CONTROLS_EACH = 24  # pairs of each kind of control: fewer cannot tell a fit judge from an unfit one


class SweepPlan(Value):
    """How a set of cases is run.

    `order`: `swap` judges each pair in both orders, `balanced` in one, half and half. `jury`: `rotate` gives each case
    to one judge in turn and the first 20 to all; `panel` gives every case to every judge.
    """

    repetitions: int = Field(default=1, ge=1)
    order: Literal["swap", "balanced"] = "swap"
    jury: Literal["rotate", "panel"] = "rotate"
    controls: tuple[Control, ...] = ()

    def judges_of(self, index: int, judges: int) -> tuple[int, ...]:
        """Which of the judges look at the case in this place of the run."""
        if judges <= 1 or self.jury == "panel" or index < OVERLAP:
            return tuple(range(judges))
        return (index % judges,)

    def controls_of(self, index: int, cases: int) -> tuple[Control, ...]:
        """Which controls are mixed in at this place: 24 of each kind (fewer in a short run), spread evenly."""
        wanted = min(CONTROLS_EACH, cases)
        first = index * wanted // cases if cases else 0
        return self.controls if cases and (index == 0 or first != (index - 1) * wanted // cases) else ()

    def calls(self, cases: int, scaffolds: int, judges: int) -> tuple[int, int]:
        """Calls to producers and to judges that `cases` cases need, controls left out."""
        looks = 2 if self.order == "swap" else 1
        seats = sum(len(self.judges_of(index, judges)) for index in range(min(cases, OVERLAP)))
        seats += max(cases - OVERLAP, 0) * (1 if self.jury == "rotate" else judges)
        return cases * (1 + scaffolds) * self.repetitions, seats * scaffolds * looks * self.repetitions
