import json

import pytest

from abjudge.adapters.ledger import LEDGER, MANIFEST, RunFolder, chain_faults, is_closed, read_manifest, read_records
from abjudge.domain.calls import Response
from abjudge.domain.cases import Case
from abjudge.domain.errors import AbjudgeError, InputError, LedgerError
from abjudge.domain.outcomes import Observation

CASES = [Case(id=str(n), prompt=f"Frage {n}: α?") for n in range(3)]


def seen(text="x", name="o"):
    return Observation(
        id=name, case_id="0", arm="baseline", scaffold=None, repetition=0, response=Response(text=text, model="m")
    )


def kept(tmp_path, *records):
    with RunFolder.create(tmp_path / "run", {"seed": 1}, CASES) as ledger:
        for record in records:
            ledger.append(record)
    return tmp_path / "run"


@pytest.mark.parametrize("text", ["plain", "α\nβ", "half a \ud83d smile", "\x00", ""])
def test_records_are_read_back_as_they_were_written(tmp_path, text):
    run = kept(tmp_path, seen(text), seen("other", "p"))

    records = [Observation.model_validate(record) for _, record in read_records(run) if record["kind"] != "closed"]

    assert records == [seen(text), seen("other", "p")]
    assert chain_faults(run) == []


def test_the_plan_is_one_json_document_and_its_cases_come_one_by_one(tmp_path):
    run = kept(tmp_path)

    whole = json.loads((run / MANIFEST).read_bytes())

    assert whole["seed"] == 1
    assert [Case.model_validate(case) for case in whole["cases"]] == CASES
    assert list(read_manifest(run).cases()) == CASES
    assert read_manifest(run).fault() is None


def test_a_record_is_in_the_file_when_append_returns(tmp_path):
    ledger = RunFolder.create(tmp_path / "run", {}, CASES)
    ledger.append(seen())

    assert json.loads((tmp_path / "run" / LEDGER).read_bytes())["kind"] == "observation"


def test_the_same_record_is_appended_once_where_once_is_asked(tmp_path):
    with RunFolder.create(tmp_path / "run", {}, CASES) as ledger:
        for _ in range(3):
            ledger.append_once(seen())

    assert [record["kind"] for _, record in read_records(tmp_path / "run")] == ["observation", "closed"]


def test_a_run_is_never_written_over(tmp_path):
    kept(tmp_path, seen())

    with pytest.raises(InputError, match="already holds a run"):
        RunFolder.create(tmp_path / "run", {"seed": 2}, CASES)

    assert read_manifest(tmp_path / "run").header["seed"] == 1


def test_a_path_that_cannot_be_a_folder_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").write_text("x")

    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises((InputError, LedgerError)):
            RunFolder.create(path, {}, CASES)


def test_a_run_goes_on_where_it_was_and_says_so(tmp_path):
    run = kept(tmp_path, seen())

    with RunFolder.reopen(run) as ledger:
        ledger.append(seen("y", "p"))

    assert [record["kind"] for _, record in read_records(run)] == [
        *("observation", "closed", "resumed", "observation", "closed")
    ]
    assert chain_faults(run) == []


@pytest.mark.parametrize("name", [LEDGER, MANIFEST])
def test_a_folder_without_a_run_says_what_is_missing(tmp_path, name):
    run = kept(tmp_path, seen())
    (run / name).unlink()

    with pytest.raises(AbjudgeError, match=name):
        read_manifest(run)
        list(read_records(run))


def test_a_run_whose_end_was_cut_off_is_not_finished(tmp_path):
    run = kept(tmp_path, seen(), seen("y", "p"))
    lines = (run / LEDGER).read_bytes().splitlines(keepends=True)
    assert is_closed(run)

    for count in range(len(lines)):
        (run / LEDGER).write_bytes(b"".join(lines[:count]))
        assert not is_closed(run)
