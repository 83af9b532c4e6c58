import base64
import csv
import hashlib
import io
import json
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abjudge.adapters.tables import csv_records, prompt_table
from abjudge.adapters.tables.prompt_table import (
    TableCheck,
    check_prompts,
    read_prompts,
    read_table,
    stream_cases,
    stream_prompts,
)
from abjudge.adapters.tables.text_source import Source, opened
from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError
from abjudge.domain.spreadsheets import guarded

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases/csv_files.jsonl").read_text("utf-8").splitlines()
    if line.strip()
]
HEADER = "id,category,prompt\n"


@pytest.fixture
def put(tmp_path):
    def write(content, name="prompts.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        check_prompts(path, **options)
    return caught.value


def prompts(path):
    return [row["prompt"] for row in read_prompts(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']} {case['kind']}")
def test_every_case_of_the_collection_has_its_rows_or_its_error(put, case):
    made = case["gen"]
    content = (
        (made["prefix"] + made["repeat"] * made["count"] + made["suffix"]).encode()
        if made
        else base64.b64decode(case["bytes_b64"])
    )
    expected = case["expect"]

    if "error" in expected:
        error = refused(put(content))

        assert (error.code, error.line) == (expected["error"]["code"], expected["error"]["line"])
        assert all(word in error.message for word in expected["error"]["must_mention"])
    else:
        table = read_table(put(content))

        rows = [
            {**{k: v for k, v in row.items() if k != "prompt"}, "prompt_len": len(row["prompt"])}
            if "prompt_len" in wanted
            else row
            for row, wanted in zip(table.rows, expected["rows"], strict=True)
        ]
        assert rows == expected["rows"]
        assert list(table.notes) == expected["notes"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('1,a,"How" now\n', "bad_quoting", 2),
        ('1,a,"He said \\"stop\\" twice"\n', "bad_quoting", 2),
        ('1,a,"How" \n', "bad_quoting", 2),
        ('1,a, "How, now"\n', "bad_quoting", 2),
        ('1,a,"one\ntwo" three\n', "bad_quoting", 3),
        ('1,a,"one\r\ntwo"\r2,a,"x"y\n', "bad_quoting", 4),
        ('1,a,"one\ntwo"\n2,"b\nb","three\nfour\n', "unterminated_quote", 5),
        ('1,a,"', "unterminated_quote", 2),
        ('1,a,"one ""two""', "unterminated_quote", 2),
        ('1,a,"one\ntwo"\n2,b\n', "ragged_row", 4),
        ("1,a,How, now\n", "ragged_row", 2),
        ("1,a,ok,\n", "ragged_row", 2),
        ("1,a,ok\n2,a,\u200b\n3,a, \t \n", "empty_prompt", 4),
        ('1,a,ok\n2,a,""\n', "empty_prompt", 3),
        ("1,a,ok\n ,a,ok\n", "empty_id", 3),
        ('1,a,"x\ny"\n1,a,z\n', "duplicate_id", 4),
        ("1,a,o\0k\n", "nul_byte", 2),
    ],
)
def test_a_fault_is_told_at_its_own_line_of_the_file(put, text, code, line):
    error = refused(put(HEADER + text))

    assert (error.code, error.line) == (code, line)
    assert f"line {line}" in error.message


@pytest.mark.parametrize(
    ("content", "code", "line", "words"),
    [
        (b"", "empty_file", None, []),
        (b"\xef\xbb\xbf", "empty_file", None, []),
        (b"\n  \n\r\n", "empty_file", None, []),
        (b"\xef\xbb\xbfid,prompt\r\n", "no_rows", None, []),
        (b"id,prompt\n\n  \n", "no_rows", None, []),
        ("id,prompt\n1,ok\n".encode("utf-16"), "encoding", 1, ["UTF-16", "UTF-8"]),
        ("id,prompt\n1,ok\n".encode("utf-16-be"), "encoding", 1, ["UTF-16BE", "UTF-8"]),
        ("id,prompt\n1,ok\n".encode("utf-16-le"), "encoding", 1, ["UTF-16LE", "UTF-8"]),
        ("id,prompt\n1,ok\n".encode("utf-32"), "encoding", 1, ["UTF-32"]),
        ("id,prompt\n1,ok\n2,caf\xe9 au lait\n".encode("latin-1"), "encoding", 3, ["0xe9", "offset 20", "Latin-1"]),
        (b"\xef\xbb\xbfid,prompt\n1,ok\xc3\n", "encoding", 2, ["0xc3", "offset 17"]),
        (b"id,prompt\n1,ok\xe2\x82", "encoding", 2, ["0xe2", "offset 14"]),
        (b"id,prompt\n1,\xed\xa0\x80\n", "encoding", 2, ["0xed"]),
        (b"PK\x03\x04\x14\x00\x06\x00", "encoding", 1, ["Excel workbook"]),
        (b"id,prompt,prompt\n1,a,b\n", "duplicate_column", 1, ["'prompt'"]),
        (b"\n\nid,prompt, id \n1,a,b\n", "duplicate_column", 3, ["'id'"]),
        (b"id,promt\n1,a\n", "missing_column", 1, ["'prompt'", "Did you mean 'promt'?"]),
        (b"id,Prompt\n1,a\n", "missing_column", 1, ["Did you mean 'Prompt'?"]),
        (b"id,question\n1,a\n", "missing_column", 1, ["Did you mean 'question'?"]),
        (b"ID,prompt\n1,a\n", "missing_column", 1, ["'id'", "Did you mean 'ID'?"]),
        (b"id,note\n1,a\n", "missing_column", 1, ["found 'id', 'note'"]),
        (b"id|prompt\n1|a\n", "missing_column", 1, ["'|'"]),
        (b'"id";"prompt"\n"1";"a, b"\n', "missing_column", 1, ["';'"]),
        (b"sep=,\nid,prompt\n1,a\n", "missing_column", 1, ["sep="]),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_says_what_it_is(put, content, code, line, words):
    error = refused(put(content))

    assert (error.code, error.line) == (code, line)
    assert all(word in error.message for word in words), error.message


def test_the_first_fault_of_a_file_is_the_one_that_is_told(put):
    assert refused(put(HEADER.encode() + b"1,a\n2,a,caf\xe9\n")).line == 2


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter_outside_quotes_and_are_kept_inside(put, end):
    text = f'id,prompt{end}1,"a{end}{end}b"{end}2,c'

    assert prompts(put(text)) == [f"a{end}{end}b", "c"]


def test_only_line_ends_end_a_line(put):
    assert prompts(put("id,prompt\n1,a\u2028b\x0bc\x85d\x1ce\n")) == ["a\u2028b\x0bc\x85d\x1ce"]


def test_text_stays_text(put):
    rows = read_prompts(put("id,prompt,n\n007,NULL,1e3\n7,'=1+1,\n 7,  two  ,None\n"))

    assert rows == [
        {"id": "007", "prompt": "NULL", "n": "1e3"},
        {"id": "7", "prompt": "'=1+1", "n": ""},
        {"id": " 7", "prompt": "  two  ", "n": "None"},
    ]


def test_a_quote_inside_an_unquoted_cell_is_a_quote(put):
    assert prompts(put('id,prompt\n1,A 5" nail or "two"?\n')) == ['A 5" nail or "two"?']


def test_a_cell_may_be_longer_than_what_the_csv_module_takes_and_its_setting_is_left_alone(put):
    before = csv.field_size_limit()

    assert len(prompts(put('id,prompt\n1,"' + "word " * 400_000 + '"\n'))[0]) == 2_000_000
    assert csv.field_size_limit() == before


def test_a_quote_that_never_closes_does_not_take_a_large_file_into_memory(put, monkeypatch):
    monkeypatch.setattr(csv_records, "LONGEST_CELL", 10_000)
    path = put('id,prompt\n1,"open\n' + "2,fine\n" * 200_000)

    tracemalloc.start()
    error = refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (error.code, error.line) == ("unterminated_quote", 2)
    assert peak < 4_000_000


def test_rows_are_numbered_where_there_are_no_ids(put):
    table = read_table(put("prompt\na\n\nb\n"))

    assert [list(row.items()) for row in table.rows] == [
        [("id", "1"), ("prompt", "a")],
        [("id", "2"), ("prompt", "b")],
    ]
    assert "ids_generated" in table.notes


def test_a_column_that_was_asked_for_by_name_is_never_made_up(put):
    path = put("key,question,prompt\nx,why?,old\n")

    assert refused(path, id_column="name").code == "missing_column"
    assert list(stream_cases(path, prompt_column="question", id_column="key")) == [
        Case(id="x", prompt="why?", extra={"prompt": "old"})
    ]


def test_columns_without_a_name_at_the_end_are_dropped_as_long_as_they_are_empty(put):
    assert read_prompts(put("id,prompt,,\n1,a,,\n2,b\n")) == [{"id": "1", "prompt": "a"}, {"id": "2", "prompt": "b"}]
    assert refused(put("id,prompt,,\n1,a,,x\n")).code == "ragged_row"


def test_a_second_byte_order_mark_does_not_hide_the_first_column(put):
    assert read_prompts(put("\ufeff\ufeffid,prompt\n1,a\n")) == [{"id": "1", "prompt": "a"}]


def test_a_tsv_file_has_tabs(put):
    assert read_prompts(put("id\tprompt\n1\ta, b\n", "p.tsv")) == [{"id": "1", "prompt": "a, b"}]
    assert refused(put("id\tprompt\n \t \n", "p.tsv")).code == "empty_prompt"


def test_an_export_of_ours_is_read_without_its_guards(put):
    header = "id,scaffold,verdict,baseline_total,scaffolded_total,status,prompt\n"

    assert prompts(put(header + "1,s,tie,1,1,completed,'=1+1\n2,s,tie,1,1,completed,''tis\n")) == ["=1+1", "'tis"]
    assert refused(put(header + "1,s,tie,1,1,completed," + guarded("\0x"))).code == "nul_byte"


# JSON Lines


def test_json_lines_are_rows_of_text(put):
    first = '{"prompt": "a", "id": 7, "category": "c", "n": 1.5, "x": null, "y": [1, "é"]}'
    lines = "\ufeff" + first + '\n\n{"id": "8", "prompt": "b"}'

    table = read_table(put(lines, "p.jsonl"))

    assert table.rows == [
        {"prompt": "a", "id": "7", "category": "c", "n": "1.5", "x": "", "y": '[1, "é"]'},
        {"id": "8", "prompt": "b"},
    ]
    assert table.notes == ("bom", "extra_column:n", "extra_column:x", "extra_column:y", "blank_lines_skipped")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ('{"id": "2", "prompt": "b"', "not_json"),
        ('{"id": "2", "prompt": "b"} {}', "not_json"),
        ("[" * 100_000, "not_json"),
        ('{"id": "2", "prompt": "b", "n": ' + "9" * 5000 + "}", "not_json"),
        ('["b"]', "not_object"),
        ("3", "not_object"),
        ('{"id": "2", "prompt": "b", "prompt": "c"}', "duplicate_key"),
        ('{"id": "2", "prompt": "b", "x": {"y": 1, "y": 1}}', "duplicate_key"),
        ('{"id": "2", "prompt": "b", "n": NaN}', "non_json_constant"),
        ('{"id": "2", "prompt": "b", "n": -Infinity}', "non_json_constant"),
        ('{"id": "2", "prompt": 3}', "not_text"),
        ('{"id": "2", "prompt": null}', "not_text"),
        ('{"id": true, "prompt": "b"}', "not_text"),
        ('{"id": "2", "promt": "b"}', "missing_column"),
        ("{}", "missing_column"),
        ('{"prompt": "b"}', "missing_column"),
        ('{"id": "", "prompt": "b"}', "empty_id"),
        ('{"id": "2", "prompt": " \\n"}', "empty_prompt"),
        ('{"id": "1", "prompt": "b"}', "duplicate_id"),
        ('{"id": 1, "prompt": "b"}', "duplicate_id"),
        ('{"id": "2", "prompt": "\\u0000"}', "nul_byte"),
        ('{"id": "2", "prompt": "\\ud83d"}', "encoding"),
    ],
)
def test_a_line_that_is_no_row_is_told_with_its_number(put, bad, code):
    error = refused(put('{"id": "1", "prompt": "a"}\n' + bad + "\n", "p.jsonl"))

    assert (error.code, error.line) == (code, 2)


def test_json_lines_without_ids_are_numbered_and_stay_so(put):
    assert [r["id"] for r in read_prompts(put('{"prompt": "a"}\n{"prompt": "b"}\n', "p.jsonl"))] == ["1", "2"]
    assert refused(put('{"prompt": "a"}\n{"prompt": "b", "id": "x"}\n', "p.jsonl")).line == 2
    assert refused(put("\n", "p.jsonl")).code == "empty_file"


# Whole tables


def test_the_digest_is_that_of_ids_and_prompts_in_order(put):
    check = check_prompts(put("id,prompt\n1,aé\n22,b\n"))

    assert check.digest == hashlib.sha256("1:12:aé2:221:b".encode()).hexdigest()
    assert check.digest == check_prompts(put("prompt,id,more\naé,1,x\nb,22,y\n", "q.csv")).digest
    assert check == TableCheck(2, 2, check.digest, ())


def test_a_collision_of_marks_is_not_a_duplicate(put, monkeypatch):
    monkeypatch.setattr(prompt_table, "hash", lambda id_: 1, raising=False)

    assert check_prompts(put("id,prompt\n1,a\n2,b\n")).rows == 2
    error = refused(put("id,prompt\n1,a\n2,b\n3,c\n2,d\n"))
    assert (error.line, "line 3" in error.message) == (5, True)


def test_a_sample_is_the_same_everywhere_and_keeps_the_order(put):
    path = put("id,prompt\n" + "".join(f"{n},prompt {n}\n" for n in range(1000)))

    drawn = [int(row["id"]) for row in stream_prompts(path, sample=5, seed=7)]

    by_hand = sorted(range(1000), key=lambda n: hashlib.sha256(f"abjudge sample 7:{n}".encode()).digest())[:5]
    assert drawn == sorted(by_hand)
    assert drawn != [int(row["id"]) for row in stream_prompts(path, sample=5, seed=8)]
    assert len(list(stream_prompts(path, sample=5000))) == 1000
    assert [int(row["id"]) for row in stream_prompts(path, sample=5, seed=7, limit=2)] == drawn[:2]


def test_the_check_tells_the_digest_of_what_will_be_asked_and_still_reads_everything(put):
    path = put("id,prompt\n1,a\n2,b\n3,c\n")

    assert check_prompts(path, limit=2).digest == check_prompts(put("id,prompt\n1,a\n2,b\n", "q.csv")).digest
    assert (check_prompts(path, limit=2).rows, check_prompts(path, limit=2).selected) == (3, 2)
    assert refused(put("id,prompt\n1,a\n2,b\n1,c\n"), limit=1).code == "duplicate_id"
    assert refused(path, limit=0).code == "bad_value"
    assert refused(path, sample=-1).code == "bad_value"


@pytest.mark.parametrize(
    ("content", "kind"), [(b"id,prompt\n1,a\n", "csv"), (b'\n{"id": "1", "prompt": "a"}\n', "jsonl")]
)
def test_standard_input_is_read_twice_and_leaves_nothing_behind(content, kind):
    with opened("-", stdin=io.BytesIO(content)) as source:
        check = check_prompts(source)
        rows = list(stream_prompts(source))
        spool = source.path

    assert (source.kind, check.rows, rows) == (kind, 1, [{"id": "1", "prompt": "a"}])
    assert not spool.exists()


def test_a_fault_in_standard_input_names_it():
    with opened("-", stdin=io.BytesIO(b"id,prompt\n1\n")) as source:
        assert "standard input, line 2" in refused(source).message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_can_be_read_like_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"id,prompt\n1,a\n",))
    writer.start()

    rows = read_prompts(tmp_path / "pipe")

    writer.join()
    assert rows == [{"id": "1", "prompt": "a"}]


def test_a_path_without_a_file_is_an_error_of_ours(tmp_path):
    assert refused(tmp_path / "none.csv").code == "no_file"
    assert refused(tmp_path).code == "no_file"


def test_memory_does_not_grow_with_the_rows(put):
    path = put("id,prompt\n" + "".join(f'{n},"What is ""{n}"", and why?"\n' for n in range(200_000)))

    tracemalloc.start()
    check_prompts(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 5_000_000  # 1.6 MB of it are the marks of the ids


CELLS = st.text(st.sampled_from('ab ",\n\r\té'), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=5), st.sampled_from([0, 1]))
def test_what_the_csv_module_writes_is_read_as_it_was(tmp_path_factory, rows, quoting):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=quoting).writerows(rows)

    read = [cells for _, cells in csv_records.csv_records(Source(path, "any", "csv", False), ",")]

    assert read == rows


@given(st.text(st.sampled_from('a",\n\r '), max_size=24))
def test_whatever_is_read_the_strict_csv_module_reads_alike(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())

    try:
        read = [cells for _, cells in csv_records.csv_records(Source(path, "any", "csv", False), ",")]
    except InputError as error:
        assert error.code in {"bad_quoting", "unterminated_quote"}
    else:
        peer = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        assert [_blank_is_none(row) for row in read] == [_blank_is_none(row) for row in peer]


def _blank_is_none(row):
    return [] if len(row) == 1 and row[0].isspace() else row
