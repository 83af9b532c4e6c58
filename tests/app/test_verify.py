import asyncio
import hashlib
import json

import pytest

from abjudge.adapters.ledger import LEDGER, MANIFEST, RunFolder
from abjudge.app.compare import compare
from abjudge.wiring.runs import open_ledger, verify_run
from tests.fakes import CASE, FakeModel, make_bench, verdict_json


@pytest.fixture
def kept(tmp_path):
    """A run on disk, judged in both orders."""
    bench = make_bench(judge=FakeModel(verdict_json()), both_orders=True)
    with open_ledger(tmp_path / "run", bench, [CASE]) as ledger:
        asyncio.run(compare(CASE, bench, ledger))
    return tmp_path / "run"


def lines(run):
    return (run / LEDGER).read_text("utf-8").splitlines()


def test_an_untouched_run_is_intact(kept):
    assert verify_run(kept) == ()


def test_a_run_that_failed_half_way_is_intact_too(tmp_path):
    bench = make_bench(judge=FakeModel("no verdict here"))
    with open_ledger(tmp_path / "run", bench, [CASE]) as ledger:
        asyncio.run(compare(CASE, bench, ledger))

    assert verify_run(tmp_path / "run") == ()


@pytest.mark.parametrize("number", range(9))
def test_any_line_that_is_edited_is_found(kept, number):
    changed = lines(kept)
    changed[number] = changed[number].replace('"ts":"2', '"ts":"3', 1)
    (kept / LEDGER).write_text("\n".join(changed) + "\n", "utf-8")

    assert any(f"line {number + 1}" in fault for fault in verify_run(kept))


@pytest.mark.parametrize("number", range(8))
def test_a_line_that_is_dropped_is_found(kept, number):
    changed = lines(kept)
    del changed[number]
    (kept / LEDGER).write_text("\n".join(changed) + "\n", "utf-8")

    assert verify_run(kept)


def forge(run, kind, change):
    """Edit records of a kind and mend the chain, as a careful forger would."""
    chain = json.loads((run / MANIFEST).read_text("utf-8"))["digest"]
    forged = []
    for line in lines(run):
        record = json.loads(line)
        del record["chain"]
        if record["kind"] == kind:
            change(record)
        opened = json.dumps(record, separators=(",", ":"))[:-1]
        chain = hashlib.sha256((chain + opened).encode()).hexdigest()
        forged.append(f'{opened},"chain":"{chain}"}}\n')
    (run / LEDGER).write_text("".join(forged), "utf-8")
    return run


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("outcome", lambda r: r.update(verdict="scaffolded", notes=[])),
        ("outcome", lambda r: r.update(totals={"baseline": 1, "scaffolded": 25})),
        ("conditions", lambda r: r["subject"].update(model="fake/better")),
        ("outcome", lambda r: r.update(case_id="another")),
        ("observation", lambda r: r["response"].update(text="Other words.")),
        ("outcome", lambda r: r.update(repetition=3)),
        ("judgment", lambda r: r.update(nonce="0" * 32)),
        ("judgment", lambda r: r["assignment"].update(A=r["assignment"]["B"], B=r["assignment"]["A"])),
        ("judgment", lambda r: r["reading"].update(verdict="B")),
        ("judgment", lambda r: r["response"].update(text=verdict_json(1, 5))),
        ("seal", lambda r: r["seal"].update(commitment="0" * 64)),
    ],
)
def test_a_forged_record_is_found_even_with_its_chain_mended(kept, kind, change):
    assert verify_run(forge(kept, kind, change))


def test_an_honest_copy_is_intact(kept):
    assert verify_run(forge(kept, "outcome", lambda r: None)) == ()


@pytest.mark.parametrize(("old", "new"), [('"seed": 1', '"seed": 9'), ("kettle?", "bottle?"), ('"swap"', '"single"')])
def test_a_changed_plan_is_found(kept, old, new):
    text = (kept / MANIFEST).read_text("utf-8")
    (kept / MANIFEST).write_text(text.replace(old, new, 1), "utf-8")

    assert any("manifest" in fault for fault in verify_run(kept))


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff\xfe", b'{"kind": "outcome"}\n' * 2, b"\x00" * 64])
def test_a_ledger_of_rubbish_is_not_intact_and_raises_nothing(kept, content):
    (kept / LEDGER).write_bytes(content)

    assert isinstance(verify_run(kept), tuple)
    assert verify_run(kept) or content == b""


def test_a_line_that_a_crash_cut_off_is_no_fault_and_the_run_can_go_on(kept):
    whole = (kept / LEDGER).read_bytes()
    (kept / LEDGER).write_bytes(whole + whole[:40])

    assert verify_run(kept) == ()
    with RunFolder.reopen(kept):
        pass
    assert verify_run(kept) == ()
    assert (kept / LEDGER).read_bytes().startswith(whole + whole[:40])
