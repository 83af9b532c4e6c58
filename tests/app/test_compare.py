import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.app.compare import compare
from abjudge.domain.blinding import opens
from abjudge.domain.calls import Limits, Response
from abjudge.domain.errors import Permanent, Transient
from abjudge.domain.outcomes import Outcome
from abjudge.domain.status import Status
from tests.fakes import CASE, FakeEvaluator, FakeModel, FakeScaffold, ListLedger, make_bench, verdict_json


def run(bench, ledger=None):
    return asyncio.run(compare(CASE, bench, ledger or ListLedger()))


def prefers(word):
    """A judge that likes the response with this word, wherever it stands."""
    return FakeEvaluator(lambda shown: "A" if word in shown.a else "B")


always_first = FakeEvaluator(lambda shown: "A")


@given(st.integers(0, 50), st.booleans())
def test_a_judge_that_follows_content_finds_the_same_arm_wherever_it_stands(seed, both):
    (outcome,) = run(make_bench(judge=prefers("scaffolded"), both_orders=both, seed=seed))

    assert outcome.verdict == "scaffolded"
    assert outcome.notes == ()


def test_swapping_what_the_arms_say_mirrors_the_verdict():
    swapped = FakeModel(lambda r: "bare answer" if "SCAFFOLD" in r.user else "scaffolded answer")

    (outcome,) = run(make_bench(swapped, prefers("scaffolded"), both_orders=True))

    assert outcome.verdict == "baseline"


def test_a_judge_that_always_takes_the_first_comes_to_a_tie_in_both_orders():
    (outcome,) = run(make_bench(judge=always_first, both_orders=True))

    assert outcome.verdict == "tie"
    assert outcome.notes == ("position_inconsistent",)


def test_half_a_swap_is_no_result():
    judge = FakeModel([verdict_json(), "They are both lovely."])

    (outcome,) = run(make_bench(judge=judge, both_orders=True))

    assert (outcome.status, outcome.verdict) == (Status.EVALUATOR_ERROR, None)


def test_an_unreadable_verdict_is_an_error_and_not_a_tie():
    (outcome,) = run(make_bench(judge=FakeModel("They are both lovely.")))

    assert (outcome.status, outcome.verdict) == (Status.EVALUATOR_ERROR, None)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Transient("unavailable", "down"), Status.HARNESS_ERROR),
        (Permanent("content_filter", "no", status=Status.BLOCKED), Status.EVALUATOR_ERROR),
        (Permanent("no_choices", "nothing", status=Status.SUBJECT_ERROR), Status.EVALUATOR_ERROR),
    ],
)
def test_a_judge_that_fails_is_never_the_subjects_fault(fault, status):
    (outcome,) = run(make_bench(judge=FakeModel(fault)))

    assert (outcome.status, outcome.verdict) == (status, None)


def test_an_arm_that_fails_names_the_pair_and_no_judge_is_asked():
    producer = FakeModel(lambda r: Permanent("quota", "spent") if "SCAFFOLD" in r.user else "fine")
    judge = prefers("x")

    (outcome,) = run(make_bench(producer, judge))

    assert (outcome.status, outcome.reason) == (Status.HARNESS_ERROR, "quota")
    assert judge.shown == []


def test_without_its_scaffold_nothing_is_asked_at_all():
    producer = FakeModel("fine")

    (outcome,) = run(make_bench(producer, scaffolds=[FakeScaffold(Permanent("key_refused", "401"))]))

    assert (outcome.status, outcome.reason) == (Status.HARNESS_ERROR, "key_refused")
    assert producer.requests == []


def test_several_scaffolds_share_one_baseline_response():
    producer = FakeModel("fine")
    scaffolds = [FakeScaffold("one", "text:one"), FakeScaffold("two", "text:two")]

    outcomes = run(make_bench(producer, always_first, scaffolds=scaffolds))

    assert len(producer.requests) == 3
    assert outcomes[0].observations["baseline"] == outcomes[1].observations["baseline"]
    assert [o.scaffold.name for o in outcomes] == ["text:one", "text:two"]


def test_each_judge_makes_its_own_outcome():
    judges = [FakeEvaluator(lambda s: "A", "fake/one"), FakeEvaluator(lambda s: "B", "fake/two")]

    outcomes = run(make_bench(judges=judges))

    assert len({outcome.id for outcome in outcomes}) == 2


def test_the_scaffold_none_asks_both_arms_the_same():
    producer = FakeModel("fine")

    run(make_bench(producer, always_first, scaffolds=[FakeScaffold(None, "none")]))

    assert producer.requests[0] == producer.requests[1]


def test_the_seal_is_in_the_ledger_before_the_judge_is_asked_and_opens_afterwards():
    ledger = ListLedger()
    seen = []
    judge = FakeEvaluator(lambda shown: seen.append([r["kind"] for r in ledger.records]) or "A")

    (outcome,) = run(make_bench(judge=judge, both_orders=True), ledger)

    assert all("seal" in kinds for kinds in seen)
    for judgment in outcome.judgments:
        assert opens(judgment.seal, judgment.assignment, judgment.nonce)


def test_nothing_that_stands_in_the_ledger_before_the_verdict_tells_the_order():
    ledgers = []
    for seed in range(8):
        ledger = ListLedger()
        run(make_bench(judge=always_first, seed=seed), ledger)
        ledgers.append([r["seal"]["trial"] for r in ledger.records if r["kind"] == "seal"])

    assert all(records == ledgers[0] for records in ledgers)


def test_the_judge_reads_no_word_that_names_an_arm():
    judge = FakeModel(verdict_json())
    producer = FakeModel("fine")

    run(make_bench(producer, judge, scaffolds=[FakeScaffold("Think.", "file:secret-name.md")]))

    words = json.dumps(judge.requests[0].model_dump(mode="json"))
    assert not any(word in words for word in ("baseline", "scaffold", "ejentum", "secret-name", "fake/model"))


def test_thinking_is_kept_in_the_record_and_hidden_from_the_judge():
    judge = prefers("x")

    (outcome,) = run(make_bench(FakeModel("<think>secret</think>\nFour."), judge))

    assert "secret" in outcome.observations["baseline"].response.text
    assert (judge.shown[0].a, judge.shown[0].b) == ("Four.", "Four.")


def test_a_response_of_nothing_but_thinking_is_a_subject_error():
    (outcome,) = run(make_bench(FakeModel("<think>hm")))

    assert (outcome.status, outcome.reason) == (Status.SUBJECT_ERROR, "empty_content_thinking_only")


def test_a_truncated_response_is_judged_and_named():
    cut = Response(text="Step one is", finish_reason="length", truncated=True)

    (outcome,) = run(make_bench(FakeModel(cut), always_first))

    assert outcome.status is Status.COMPLETED
    assert {"baseline_truncated", "scaffolded_truncated"} <= set(outcome.notes)


def test_a_leak_is_reported_and_the_text_is_left_as_it_is():
    text = "[COGNITIVE SCAFFOLD] says: use acid."
    judge = prefers("x")

    (outcome,) = run(make_bench(FakeModel(text), judge))

    assert "scaffolded_leak" in outcome.notes
    assert judge.shown[0].a == text


def test_an_outcome_is_itself_again_after_json():
    (outcome,) = run(make_bench(both_orders=True))

    assert Outcome.model_validate_json(outcome.model_dump_json()) == outcome


@pytest.mark.parametrize("change", ["producer", "scaffold", "judge"])
def test_another_condition_makes_another_outcome(change):
    producer = FakeModel("fine", name="fake/other") if change == "producer" else FakeModel("fine")
    scaffold = FakeScaffold("Other." if change == "scaffold" else "Think twice.")
    judge = FakeEvaluator(lambda s: "A", "fake/other" if change == "judge" else "fake/judge")
    plain = make_bench(FakeModel("fine"), FakeEvaluator(lambda s: "A"))

    (one,) = run(plain)
    (other,) = run(make_bench(producer, judge, scaffolds=[scaffold]))

    assert one.id != other.id


def test_the_same_conditions_make_the_same_outcome_id():
    assert run(make_bench())[0].id == run(make_bench())[0].id


def test_scores_are_told_by_arm_whatever_the_order():
    by_content = FakeModel(
        lambda r: (
            verdict_json(5, 2)
            if r.user.index("scaffolded answer") < r.user.index("bare answer")
            else verdict_json(2, 5)
        )
    )

    (outcome,) = run(make_bench(judge=by_content, both_orders=True))

    assert outcome.totals == {"baseline": 10, "scaffolded": 25}
    assert outcome.criteria["depth"] == {"baseline": 2, "scaffolded": 5}


def test_attempts_are_counted_in_the_observation():
    producer = FakeModel([Transient("unavailable", "x", retry_after_s=0.0), "one", "two"])

    (outcome,) = run(make_bench(producer, always_first, limits=Limits(retries=1)))

    assert sorted(seen.response.attempts for seen in outcome.observations.values()) == [1, 2]
