"""What opens a door is never said, whatever it is called and however it is written."""

import pytest

from abjudge.domain.redaction import MARK, redact


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer s3cret-value-1",
        '{"Authorization": "Basic s3cret-value-1=="}',
        "x-goog-api-key: s3cret-value-1",
        "'api_key': 's3cret-value-1', 'model': 'm'",
        "GET https://x.test/v1?key=s3cret-value-1&alt=sse",
        "http://me:s3cret-value-1@x.test:80/v1",
        "http://me:p@s3cret-value-1@x.test/v1",
        "Incorrect API key provided: sk-s3cret-value-1.",
    ],
)
def test_a_secret_is_found_by_its_name_or_its_shape(text: str) -> None:
    assert "s3cret-value-1" not in redact(text)
    assert MARK in redact(text)


def test_a_secret_is_found_by_its_value_also_percent_encoded() -> None:
    assert redact("a+b/c= and a%2Bb%2Fc%3D", ["a+b/c="]) == f"{MARK} and {MARK}"


@pytest.mark.parametrize("text", ["Unexpected token: <", "the key is missing", "http://127.0.0.1:1/v1", "monkey=1"])
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert redact(text, ["", "abc"]) == text
