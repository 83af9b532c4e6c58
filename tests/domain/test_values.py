import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from abjudge.domain.calls import Response, Sampling
from abjudge.domain.cases import Case, Suite
from abjudge.domain.fingerprints import canonical_json, fingerprint

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
)


@given(st.dictionaries(st.text(), json_values))
def test_the_order_of_keys_changes_no_fingerprint(value):
    assert fingerprint(dict(reversed(value.items()))) == fingerprint(value)


def test_a_fingerprint_is_pinned_because_old_runs_rest_on_it():
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"é","b":1}'
    assert fingerprint({"b": 1, "a": "é"}) == "abj1:aa58fba8483623bed37c1b02edfccbdd9a53123837c20bfa4cb4049993a2872e"


def test_nan_has_no_fingerprint():
    with pytest.raises(ValueError):
        fingerprint(float("nan"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.floats(0, 2))
def test_a_value_is_itself_again_after_json(text, temperature):
    response = Response(text=text, sampling=Sampling(temperature=temperature), notes=("a", "b"))

    assert Response.model_validate_json(response.model_dump_json()) == response


def test_a_value_is_frozen_and_closed():
    with pytest.raises(ValidationError):
        Case(id="1", prompt="x").prompt = "y"
    with pytest.raises(ValidationError):
        Case(id="1", prompt="x", promt="y")


def test_another_case_makes_another_suite():
    one = Suite(name="s", cases=(Case(id="1", prompt="x"),))

    assert one.digest != one.with_(cases=(Case(id="1", prompt="y"),)).digest
    assert one.digest != one.with_(revision=2).digest
