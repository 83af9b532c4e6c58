"""The shapes in which numbers leave this room: never bare, always with their interval, their n and their method."""

from abjudge.domain.values import Value


class Result(Value):
    """An answer with the method that gave it and where the method is described."""

    method: str
    source: str


class Estimate(Result):
    """A point with its interval. `point` is None where nothing was observed; the interval is then all that is possible.

    `n` counts independent units (prompts, clusters, labels), never calls.
    """

    point: float | None
    low: float
    high: float
    n: int
    conf: float


class Interval(Result):
    """An estimate under the short names that the reference uses: `estimate`, `lo`, `hi`."""

    n: int
    estimate: float | None
    lo: float
    hi: float
    conf: float

    @property
    def as_estimate(self) -> Estimate:
        """The same numbers under the names of every report: point, low, high, n, method, source."""
        return Estimate(
            point=self.estimate,
            low=self.lo,
            high=self.hi,
            n=self.n,
            conf=self.conf,
            method=self.method,
            source=self.source,
        )
