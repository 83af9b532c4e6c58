import pytest

from abjudge.app.fairness import check_system_prompts, conflicts, differences, doubts, refuse
from abjudge.domain.calls import Sampling
from abjudge.domain.environments import EvaluatorCard, Subject
from abjudge.domain.errors import FairnessError
from abjudge.domain.families import lineage_of

BLOCK = "<!-- scaffold block: begin -->\nUse it.\n<!-- scaffold block: end -->\n"


def subject(model):
    return Subject(
        model=model, lineage=lineage_of(model), sampling=Sampling(), baseline_system="", scaffolded_system=""
    )


def card(model, kind="model"):
    return EvaluatorCard(kind=kind, model=model, lineage=lineage_of(model))


def test_prompts_that_differ_only_in_the_block_are_fair():
    check_system_prompts("Answer.\n", f"Answer.\n{BLOCK}")


@pytest.mark.parametrize("baseline", ["Answer!\n", "Answer.", "Answer.\nBriefly.\n"])
def test_prompts_that_differ_elsewhere_are_refused_with_the_difference(baseline):
    with pytest.raises(FairnessError) as caught:
        check_system_prompts(baseline, f"Answer.\n{BLOCK}")

    assert caught.value.exit_code == 2


def test_a_judge_from_the_producers_house_is_refused():
    with pytest.raises(FairnessError, match="Google") as caught:
        refuse(doubts(subject("gemini/gemini-2.5-flash"), [card("ollama_chat/gemma3")]))

    assert caught.value.code == "same_family"


def test_a_declared_conflict_is_recorded_and_not_forgotten():
    (recorded,) = conflicts(doubts(subject("openai/gpt-4o"), [card("openai/o3")]))

    assert "OpenAI" in recorded
    assert "--allow-same-family" in recorded


@pytest.mark.parametrize(("producer", "judge"), [("openai/local", "openai/gpt-4o"), ("openai/gpt-4o", "openai/local")])
def test_an_unknown_family_must_be_declared(producer, judge):
    with pytest.raises(FairnessError, match="not known") as caught:
        refuse(doubts(subject(producer), [card(judge)]))

    assert caught.value.code == "unknown_family"


def test_strangers_and_people_are_fair_judges():
    judges = [card("gemini/gemini-2.5-flash"), card("human", kind="human")]

    assert doubts(subject("openai/gpt-4o"), judges) == ()


def test_what_differs_between_the_arms_is_named():
    assert len(differences(["file:x"])) == 2
    assert "A versus A" in differences(["none"])[0]
