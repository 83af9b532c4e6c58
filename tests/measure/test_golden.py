"""Fifty cases from independent code (exact fractions, mpmath, statsmodels, ...): stats.json says which for each."""

import json
from pathlib import Path

import pytest

from abjudge import measure
from abjudge.domain.values import Value

CASES = json.loads((Path(__file__).parent / "stats.json").read_text(encoding="utf-8"))["cases"]


def differences(got, expected, *, tol, at=""):
    """Paths at which `got` breaks the rule of the file: abs(got - expected) <= tol * max(1, abs(expected))."""
    if isinstance(expected, dict):
        for name, wanted in expected.items():
            part = got[name] if isinstance(got, dict) else getattr(got, name)
            yield from differences(part, wanted, tol=tol, at=f"{at}.{name}")
    elif isinstance(expected, list):
        if len(got) != len(expected):
            yield f"{at}: {len(got)} entries for {len(expected)}"
        for place, (part, wanted) in enumerate(zip(got, expected, strict=False)):
            yield from differences(part, wanted, tol=tol, at=f"{at}[{place}]")
    elif expected is None or isinstance(expected, bool):
        if got is not expected:
            yield f"{at}: {got} for {expected}"
    elif got is None or abs(got - expected) > tol * max(1, abs(expected)):
        yield f"{at}: {got} for {expected}"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_golden_case_is_reproduced(case):
    result = getattr(measure, case["function"])(**case["inputs"])

    assert list(differences(result, case["expected"], tol=case["tol"])) == []


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_result_is_frozen_and_survives_json(case):
    result = getattr(measure, case["function"])(**case["inputs"])

    assert isinstance(result, Value)
    assert result.method and result.source
    assert type(result).model_validate_json(result.model_dump_json()) == result
