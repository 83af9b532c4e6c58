"""One comparison: scaffold, two responses at once, a sealed order, a blind verdict."""

from abjudge.app import retries
from abjudge.app.bench import Bench, Judge, all_done
from abjudge.app.known import NOTHING, Known
from abjudge.app.trial import Failure, Pair, Trial
from abjudge.domain.blinding import Arm
from abjudge.domain.cases import Case
from abjudge.domain.errors import CallError
from abjudge.domain.fingerprints import fingerprint
from abjudge.domain.outcomes import Observation, Outcome, ScaffoldText
from abjudge.domain.records import ScaffoldRecord
from abjudge.ports import Ledger, Scaffold


async def compare(
    case: Case, bench: Bench, ledger: Ledger, *, repetition: int = 0, index: int = 0, known: Known = NOTHING
) -> tuple[Outcome, ...]:
    """One Outcome for each scaffold and judge, scaffolds outermost; the baseline response is shared by all.

    `index` is the case's place in its run: the order of showing is balanced over every four places. A failure is an
    Outcome with its status; nothing is judged without both responses, and none is asked for without its scaffold. What
    is `known` is not asked again, and what is settled makes no new Outcome.
    """
    open_seats = [
        (scaffold, judge)
        for scaffold in bench.scaffolds
        for judge in bench.judges
        if (scaffold.name, judge.evaluator.name, repetition) not in known.settled
    ]
    scaffolds = list(dict.fromkeys(scaffold for scaffold, _ in open_seats))
    had = await all_done(_retrieve(scaffold, case, bench, ledger, known) for scaffold in scaffolds)
    texts = {text.name: (text, failure) for text, failure in had}
    usable = [text for text, failure in had if failure is None]
    pairs = await _produce(case, usable, bench, ledger, repetition, known) if usable else {}
    if any(all(seen.usable for seen in pair.values()) for pair in pairs.values()):
        bench.say("judging blind" + (" in both orders" if bench.both_orders else ""))

    async def conduct(scaffold: Scaffold, judge: Judge) -> Outcome:
        text, failure = texts[scaffold.name]
        trial = Trial(case, text, judge, bench, ledger, known, repetition, index)
        return await trial.conduct(pairs.get(text.name, {}), failure)

    return tuple(await all_done(conduct(scaffold, judge) for scaffold, judge in open_seats))


async def _retrieve(
    scaffold: Scaffold, case: Case, bench: Bench, ledger: Ledger, known: Known
) -> tuple[ScaffoldText, Failure | None]:
    """The scaffold for this prompt, or an empty one and why it could not be had."""
    if scaffold.name in known.scaffolds:
        return known.scaffolds[scaffold.name], None
    try:
        words, _ = await retries.call(lambda: scaffold.retrieve(case.prompt), retries=bench.producer.limits.retries)
    except CallError as error:
        missing = ScaffoldText(name=scaffold.name, text=None, digest="")
        return missing, Failure(error.status, error.reason, str(error))
    text = ScaffoldText(name=scaffold.name, text=words, digest=fingerprint(words))
    ledger.append_once(ScaffoldRecord(scaffold=text))
    return text, None


async def _produce(
    case: Case, texts: list[ScaffoldText], bench: Bench, ledger: Ledger, repetition: int, known: Known
) -> dict[str, Pair]:
    """Both responses of each scaffold's pair, all asked for at once and written down as they come."""
    bench.say(f"asking {bench.subject.model} bare and with {', '.join(text.name for text in texts)}")

    async def observe(arm: Arm, text: ScaffoldText | None) -> Observation:
        name = bench.producer.observation_id(case, arm, text, repetition)
        if name in known.observations:
            return known.observations[name]
        seen = await bench.producer.respond(case, arm, text, repetition, name=name)
        ledger.append(seen)
        return seen

    baseline, *scaffolded = await all_done(
        [observe("baseline", None), *(observe("scaffolded", text) for text in texts)]
    )
    return {seen.scaffold or "": {"baseline": baseline, "scaffolded": seen} for seen in scaffolded}
