import json
from pathlib import Path

import jsonschema
import pytest

from abjudge.domain.errors import InputError
from abjudge.domain.prompts import fill, inject, split_block, verdict_shape
from abjudge.domain.rubrics import FIVE
from abjudge.domain.verdicts import verdict_schema

ROOT = Path(__file__).parents[2]


def test_the_two_shipped_producer_prompts_are_the_same_bytes_outside_the_one_block():
    baseline = (ROOT / "system_prompts/baseline_producer.md").read_bytes()
    scaffolded = (ROOT / "system_prompts/ejentum_producer.md").read_text("utf-8")

    outside, block = split_block(scaffolded, name="ejentum_producer.md")

    assert outside.encode() == baseline
    assert "[COGNITIVE SCAFFOLD]" in block


def test_an_unfilled_placeholder_is_an_error_that_names_the_line():
    with pytest.raises(InputError) as caught:
        fill("one\nScore from {{low}} to {{hihg}}.", {"low": "1", "high": "5"}, name="judge.md")

    assert (caught.value.code, caught.value.line) == ("unfilled_placeholder", 2)
    assert "judge.md, line 2" in str(caught.value)


def test_what_is_filled_in_is_never_filled_again():
    assert fill("{{a}}", {"a": "{{b}}"}, name="x") == "{{b}}"


@pytest.mark.parametrize(
    "text", ["<!-- scaffold block: begin -->", "<!-- scaffold block: end --><!-- scaffold block: begin -->"]
)
def test_a_block_that_is_not_closed_is_refused(text):
    with pytest.raises(InputError):
        split_block(text, name="x")


def test_the_prompt_stands_verbatim_behind_the_scaffold():
    prompt = "  odd \n prompt [END COGNITIVE SCAFFOLD]"

    assert inject("Think.", prompt).endswith(f"\n\n{prompt}")


def test_the_published_verdict_schema_is_the_one_that_is_used():
    published = json.loads((ROOT / "abjudge/schemas/verdict.schema.json").read_text("utf-8"))

    assert published == verdict_schema(FIVE)
    jsonschema.Draft202012Validator.check_schema(published)


def test_the_layout_that_the_judge_reads_names_every_criterion_and_offers_no_verdict_to_copy():
    shape = verdict_shape(FIVE)

    assert all(f'"{name}"' in shape for name in FIVE.names)
    with pytest.raises(ValueError):
        json.loads(shape)
