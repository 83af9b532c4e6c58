"""Traces of a scaffold in the responses: shared word runs, a classifier that tries to tell the arms apart, and what a
planted trace does to the verdict."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from abjudge.measure.results import Result
from abjudge.measure.scores import Floats, same_length, whole

_WORD = re.compile(r"\w+")
_PENALTY = 1.0
_VOCABULARY = 4000


class NgramOverlap(Result):
    """`share` of the response's n-grams taken from the scaffold; `longest` run of tokens taken from it."""

    share: float
    longest: int
    n: int
    n_positions: int


class LeakClassifier(Result):
    """Share of pairs whose scaffolded response a bag-of-words classifier recognised; 1/2 is chance."""

    n: int
    accuracy: float | None
    p_value: float
    permutations: int
    seed: int


def ngram_overlap(response: str, scaffold: str, prompt: str, *, n: int = 8) -> NgramOverlap:
    """How much of the response is the scaffold's wording, word runs that the prompt brought in itself left out.

    Tokens are words in lower case. `share` is over the response's n-gram positions (0 where it is shorter than n);
    `longest` is in tokens, and 8 or more is a leak. Run it on the baseline response as well: that is the control.
    """
    whole(n, name="n", least=1)
    words, taught, asked = (_WORD.findall(text.lower()) for text in (response, scaffold, prompt))
    own = set(_ngrams(taught, n)) - set(_ngrams(asked, n))
    runs = _ngrams(words, n)
    # A run that the prompt holds in full is the prompt's; one word more than the prompt holds is the scaffold's.
    from_scaffold = _matched_lengths(words, taught)
    from_prompt = _matched_lengths(words, asked)
    beyond = (length for length, quoted in zip(from_scaffold, from_prompt, strict=True) if length > quoted)
    return NgramOverlap(
        share=sum(run in own for run in runs) / len(runs) if runs else 0.0,
        longest=max(beyond, default=0),
        n=n,
        n_positions=len(runs),
        method="verbatim n-grams of scaffold minus prompt",
        source="definition",
    )


def _ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def _matched_lengths(words: Sequence[str], text: Sequence[str]) -> list[int]:
    """For each place in `words`, the length of the longest run ending there that occurs in `text`; linear in both.

    A suffix automaton: Blumer et al. (1985), doi:10.1016/0304-3975(85)90157-4.
    """
    steps, links, sizes = _suffix_automaton(text)
    lengths, state, length = [], 0, 0
    for word in words:
        while state and word not in steps[state]:
            state = links[state]
            length = sizes[state]
        if word in steps[state]:
            state, length = steps[state][word], length + 1
        lengths.append(length)
    return lengths


def _suffix_automaton(text: Sequence[str]) -> tuple[list[dict[str, int]], list[int], list[int]]:
    """Its transitions, suffix links and longest lengths; state 0 is the empty run."""
    steps: list[dict[str, int]] = [{}]
    links, sizes, last = [-1], [0], 0
    for word in text:
        new, back = len(steps), last
        steps.append({})
        sizes.append(sizes[last] + 1)
        links.append(0)
        while back != -1 and word not in steps[back]:
            steps[back][word] = new
            back = links[back]
        if back != -1:
            target = steps[back][word]
            if sizes[target] != sizes[back] + 1:
                # The target also ends longer runs; those that end here need a state of their own.
                twin = len(steps)
                steps.append(dict(steps[target]))
                sizes.append(sizes[back] + 1)
                links.append(links[target])
                while back != -1 and steps[back].get(word) == target:
                    steps[back][word] = twin
                    back = links[back]
                links[target] = twin
                target = twin
            links[new] = target
        last = new
    return steps, links, sizes


def leak_classifier(
    scaffolded_responses: Sequence[str],
    baseline_responses: Sequence[str],
    *,
    seed: int,
    permutations: int = 999,
    folds: int = 5,
) -> LeakClassifier:
    """Whether word use alone tells which response of a pair is scaffolded; the unit is the pair.

    Ridge regression on the difference of word presence within each pair, tested on folds that it has not seen. The
    p-value comes from flipping the arms within pairs: a binomial test on cross-validated accuracy would be wrong (its
    tries are not independent). It sees style; single tags are for the leak scan. With fewer than two pairs a fold
    nothing is claimed: accuracy None, p = 1. Asks n x n numbers: give it a sample beyond a few thousand pairs. Golland
    and Fischl (2003), doi:10.1007/978-3-540-45087-0_28.
    """
    same_length(scaffolded_responses, baseline_responses, names="scaffolded_responses and baseline_responses")
    whole(permutations, name="permutations", least=1)
    whole(folds, name="folds", least=2)
    n = len(scaffolded_responses)
    accuracy, p = None, 1.0
    if n >= 2 * folds:
        random = np.random.default_rng(seed)
        predict = _cross_predictor(
            _differences(scaffolded_responses, baseline_responses), random.permutation(n) % folds
        )
        accuracy = _accuracy(predict, np.ones((n, 1)))[0]
        flipped = _accuracy(predict, random.choice((-1.0, 1.0), size=(n, permutations)))
        p = (1 + int((flipped >= accuracy - 1e-12).sum())) / (1 + permutations)
    return LeakClassifier(
        n=n,
        accuracy=None if accuracy is None else float(accuracy),
        p_value=p,
        permutations=permutations,
        seed=seed,
        method=f"ridge on word differences, {folds} folds, sign-flip permutation",
        source="Golland and Fischl (2003), doi:10.1007/978-3-540-45087-0_28",
    )


def _differences(ours: Sequence[str], theirs: Sequence[str]) -> Floats:
    """Rows of unit length: words only in the scaffolded response +1, only in the other -1."""
    pairs = [
        (set(_WORD.findall(one.lower())), set(_WORD.findall(other.lower())))
        for one, other in zip(ours, theirs, strict=True)
    ]
    seen = Counter(word for one, other in pairs for word in one ^ other)
    # By count, then by the word itself: sets have no order of their own.
    common = sorted(seen, key=lambda word: (-seen[word], word))[:_VOCABULARY]
    place = {word: column for column, word in enumerate(common)}
    rows = np.zeros((len(pairs), max(1, len(place))))
    for row, (one, other) in zip(rows, pairs, strict=True):
        row[[place[word] for word in one - other if word in place]] = 1
        row[[place[word] for word in other - one if word in place]] = -1
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float64)


def _cross_predictor(rows: Floats, fold: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    """The matrix that turns labels into held-out predictions; it is the same for every flip of the labels."""
    kernel = rows @ rows.T
    predict = np.zeros_like(kernel)
    for held_out in np.unique(fold):
        test, train = np.flatnonzero(fold == held_out), np.flatnonzero(fold != held_out)
        inner = kernel[np.ix_(train, train)] + _PENALTY * np.eye(train.size)
        predict[np.ix_(test, train)] = np.linalg.solve(inner, kernel[np.ix_(train, test)]).T
    return predict


def _accuracy(predict: Floats, labels: Floats) -> Floats:
    """Share of right signs for each column of labels, a prediction of exactly 0 as half."""
    right = np.sign(np.round(predict @ labels, 12)) * labels
    return np.asarray((right + 1).mean(axis=0) / 2, dtype=np.float64)
