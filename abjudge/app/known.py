"""What a run already holds of one case, so that nothing is paid for twice."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from abjudge.domain.outcomes import Judgment, Observation, ScaffoldText


@dataclass(frozen=True)
class Known:
    """Answers and judgments that completed, by id, and the scaffolds they were asked with, by name."""

    observations: Mapping[str, Observation] = field(default_factory=dict)
    judgments: Mapping[str, Judgment] = field(default_factory=dict)
    scaffolds: Mapping[str, ScaffoldText] = field(default_factory=dict)


NOTHING = Known()
