"""Which response is shown first, the seal that fixes it beforehand, and how to read the answer back."""

import hashlib
import hmac
from typing import Literal

from abjudge.domain.values import Value
from abjudge.domain.verdicts import Label

Arm = Literal["baseline", "scaffolded"]

# Four trials a block, two of each order: balance within every block, and the last draw of a block of two
# would follow from the first.
_BLOCK = ("0011", "0101", "0110", "1001", "1010", "1100")


class Assignment(Value):
    """Which arm stands behind which label."""

    A: Arm
    B: Arm

    @property
    def text(self) -> str:
        """The words that are sealed."""
        return f"A={self.A};B={self.B}"

    @property
    def mirrored(self) -> "Assignment":
        return Assignment(A=self.B, B=self.A)

    def label_of(self, arm: Arm) -> Label:
        return "A" if arm == self.A else "B"

    def arm_of(self, label: Label) -> Arm:
        return self.A if label == "A" else self.B


BASELINE_FIRST = Assignment(A="baseline", B="scaffolded")
SCAFFOLDED_FIRST = BASELINE_FIRST.mirrored


class Seal(Value):
    """A commitment to an assignment: `sha256(nonce + assignment)`, hex, made before the judge is asked."""

    trial: str
    commitment: str


def draw(seed: int, stratum: str, index: int) -> Assignment:
    """The assignment of the `index`-th trial (from 0) of a stratum; of every four in a row, two have each order.

    The same seed, stratum and index give the same assignment on every platform and Python version.
    """
    block, place = divmod(index, 4)
    pattern = _BLOCK[int.from_bytes(_keyed(seed, f"order|{stratum}|{block}")[:8], "big") % len(_BLOCK)]
    return BASELINE_FIRST if pattern[place] == "0" else SCAFFOLDED_FIRST


def judge_seed(seed: int) -> int:
    """The seed of a judge's sampling: another than the run's, from which the order could be worked out."""
    return int.from_bytes(_keyed(seed, "judge")[:4], "big") >> 1


def seal(trial: str, assignment: Assignment, nonce: str) -> Seal:
    """Commit to `assignment`; `nonce` is secret until the judge has answered."""
    return Seal(trial=trial, commitment=_commitment(nonce, assignment))


def opens(sealed: Seal, assignment: Assignment, nonce: str) -> bool:
    """Whether this nonce and this assignment are the ones that were sealed."""
    return hmac.compare_digest(sealed.commitment, _commitment(nonce, assignment))


class Shown(Value):
    """What the judge is shown: the prompt and two responses between marks that none of them contains."""

    prompt: str
    a: str
    b: str
    mark: str

    def quoted(self, title: str, text: str) -> str:
        return f"<<<{title} {self.mark}>>>\n{text}\n<<<END {title} {self.mark}>>>"


def show(prompt: str, texts: dict[Arm, str], assignment: Assignment, *, seed: int, trial: str) -> Shown:
    """Put each arm's text behind its label. The mark is drawn anew for every trial until no text contains it."""
    a, b = texts[assignment.A], texts[assignment.B]
    attempt = 0
    while (mark := _keyed(seed, f"mark|{trial}|{attempt}").hex()[:16]) in f"{prompt}\n{a}\n{b}":
        attempt += 1
    return Shown(prompt=prompt, a=a, b=b, mark=mark)


def _commitment(nonce: str, assignment: Assignment) -> str:
    return hashlib.sha256(f"{nonce}{assignment.text}".encode()).hexdigest()


def _keyed(seed: int, words: str) -> bytes:
    return hmac.new(str(seed).encode(), words.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
