import json

import pytest

from abjudge.adapters.ledger import LEDGER, MANIFEST, RunFolder, chain_faults, encoded, read_run
from abjudge.domain.errors import AbjudgeError, InputError, LedgerError


def test_records_are_read_back_as_they_were_written(tmp_path):
    with RunFolder(tmp_path / "run", {"seed": 1}, now=lambda: "t") as ledger:
        ledger.append({"kind": "x", "text": "α\n\ud83d"})
        ledger.append({"kind": "y"})

    manifest, records = read_run(tmp_path / "run")

    assert manifest["seed"] == 1
    assert [{k: v for k, v in r.items() if k != "chain"} for r in records] == [
        {"ts": "t", "kind": "x", "text": "α\n\ud83d"},
        {"ts": "t", "kind": "y"},
    ]
    assert chain_faults(tmp_path / "run") == []


def test_a_record_is_on_the_disk_when_append_returns(tmp_path):
    ledger = RunFolder(tmp_path / "run", {})
    ledger.append({"kind": "x"})

    assert json.loads((tmp_path / "run" / LEDGER).read_bytes())["kind"] == "x"


def test_a_run_is_never_written_over(tmp_path):
    with RunFolder(tmp_path / "run", {"seed": 1}):
        pass

    with pytest.raises(InputError, match="already holds a run"):
        RunFolder(tmp_path / "run", {"seed": 2})

    assert json.loads((tmp_path / "run" / MANIFEST).read_bytes())["seed"] == 1


def test_a_path_that_cannot_be_a_folder_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").write_text("x")

    with pytest.raises((InputError, LedgerError)):
        RunFolder(tmp_path / "file", {})
    with pytest.raises((InputError, LedgerError)):
        RunFolder(tmp_path / "file" / "run", {})


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [(LEDGER, b'{"kind": "x"}\n{"kind', "not_json"), (LEDGER, b"[1]\n", "not_object"), (MANIFEST, b"{", "not_json")],
)
def test_a_run_that_cannot_be_read_says_where(tmp_path, name, content, code):
    with RunFolder(tmp_path / "run", {}) as ledger:
        ledger.append({"kind": "x"})
    (tmp_path / "run" / name).write_bytes(content)

    with pytest.raises(AbjudgeError) as caught:
        read_run(tmp_path / "run")

    assert caught.value.code == code


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(InputError, match=MANIFEST):
        read_run(tmp_path)


def test_json_with_a_lone_surrogate_is_still_utf_8():
    assert json.loads(encoded({"a": "\ud83d"}).decode("utf-8")) == {"a": "\ud83d"}
