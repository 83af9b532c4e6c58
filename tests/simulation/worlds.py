"""Judges and prompts that are made up, so that the truth is known."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class World:
    """Each prompt has a latent gap ~ N(shift, 1); a call sees it with fresh noise `tau`, pulled by `slot` towards the
    response shown first; within `band` of 0 it is a tie."""

    shift: float = 0.0
    tau: float = 1.0
    slot: float = 0.0
    band: float = 0.4

    def pairs(self, random, n):
        """n x 2 scores: the scaffold shown first, then second."""
        gaps = random.normal(self.shift, 1, (n, 1))
        seen = gaps + random.normal(0, self.tau, (n, 2)) + np.array([self.slot, -self.slot])
        return (np.sign(np.where(np.abs(seen) < self.band, 0, seen)) + 1) / 2

    def scores(self, random, n):
        return self.pairs(random, n).mean(axis=1)

    @property
    def truth(self):
        """The win rate: mean over both orders of P(win) + P(tie) / 2."""
        spread = math.sqrt(1 + self.tau**2)

        def below(edge, pull):
            return 0.5 * math.erfc((self.shift + pull - edge) / spread / math.sqrt(2))

        orders = (self.slot, -self.slot)
        return sum(1 - (below(self.band, pull) + below(-self.band, pull)) / 2 for pull in orders) / 2


def share(found):
    """The share of true entries and its Monte-Carlo standard error."""
    found = np.asarray(list(found), dtype=float)
    return found.mean(), math.sqrt(max(found.mean() * (1 - found.mean()), 1e-4) / found.size)
