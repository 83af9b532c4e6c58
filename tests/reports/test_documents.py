import asyncio
import json
from pathlib import Path

import jsonschema
import pytest

from abjudge.app.compare import compare
from abjudge.domain.errors import Permanent
from abjudge.reports.documents import compare_schema, failure_document, outcome_document, pattern_document, to_json
from tests.fakes import CASE, FakeEvaluator, FakeModel, FakeScaffold, ListLedger, make_bench, verdict_json

PUBLISHED = json.loads((Path(__file__).parents[2] / "abjudge/schemas/compare.schema.json").read_text("utf-8"))


def outcomes(**bench):
    return asyncio.run(compare(CASE, make_bench(**bench), ListLedger()))


def test_the_published_schema_is_the_one_of_the_code():
    assert compare_schema() == PUBLISHED


@pytest.mark.parametrize(
    "document",
    [
        outcome_document(outcomes()),
        outcome_document(outcomes(both_orders=True)),
        outcome_document(outcomes(judge=FakeModel("nothing to read"))),
        outcome_document(outcomes(judge=FakeEvaluator(lambda s: "A"))),
        outcome_document(outcomes(producer=FakeModel(Permanent("quota", "spent")))),
        outcome_document(outcomes(scaffolds=[FakeScaffold(Permanent("key_refused", "401"))])),
        outcome_document(outcomes(scaffolds=[FakeScaffold("a", "text:a"), FakeScaffold("b", "text:b")])),
        failure_document(None, "empty_prompt", "The prompt is empty.", 2),
        failure_document("harness_error", "key_missing", "No key.", 3),
    ],
)
def test_whatever_compare_prints_is_valid_under_the_published_schema(document):
    jsonschema.validate(json.loads(to_json(document)), PUBLISHED, cls=jsonschema.Draft202012Validator)


def test_the_pattern_has_exactly_its_four_keys():
    document = pattern_document(outcomes())

    assert list(document) == ["user_message", "baseline_response", "ejentum_response", "evaluation"]
    assert document["user_message"] == CASE.prompt
    assert (document["baseline_response"], document["ejentum_response"]) == ("bare answer", "scaffolded answer")


@pytest.mark.parametrize("seed", range(6))
def test_the_patterns_verdict_is_the_judges_own_with_its_mapping(seed):
    likes_scaffolded = FakeModel(
        lambda r: (
            verdict_json(5, 2)
            if r.user.index("scaffolded answer") < r.user.index("bare answer")
            else verdict_json(2, 5)
        )
    )

    evaluation = pattern_document(outcomes(judge=likes_scaffolded, seed=seed))["evaluation"]

    assert evaluation["mapping"][evaluation["verdict"]] == "ejentum"
    assert set(evaluation) == {"scores", "totals", "justifications", "verdict", "verdict_reason", "mapping"}


def test_the_pattern_in_both_orders_says_what_they_come_to():
    evaluation = pattern_document(outcomes(judge=FakeModel(verdict_json()), both_orders=True))["evaluation"]

    assert evaluation["combined"] == "tie"
    assert evaluation["other_order"]["mapping"] == {"A": evaluation["mapping"]["B"], "B": evaluation["mapping"]["A"]}


def test_a_verdict_that_is_none_says_so_in_the_pattern():
    evaluation = pattern_document(outcomes(judge=FakeModel("no")))["evaluation"]

    assert evaluation["status"] == "evaluator_error"
    assert "verdict" not in evaluation


def test_a_lone_surrogate_does_not_stop_the_printing():
    text = to_json(outcome_document(outcomes(producer=FakeModel("half a \ud83d smile"))))

    assert json.loads(text.encode("utf-8"))["observations"]["baseline"]["response"]["text"] == "half a \ud83d smile"
