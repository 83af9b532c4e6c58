"""Where the text of a table comes from: a file, a pipe or standard input, line by line, refused where unreadable."""

import codecs
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from abjudge.domain.errors import InputError

Kind = Literal["csv", "tsv", "jsonl"]

_KINDS: dict[str, Kind] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".tsv": "tsv", ".tab": "tsv"}
_NO_TEXT = {b"PK\x03\x04": "an Excel workbook or a zip archive", b"\x1f\x8b": "compressed with gzip"}
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Source:
    """A text on disk that can be read more than once. `name` is what a person would call it."""

    path: Path
    name: str
    kind: Kind
    has_bom: bool

    def lines(self) -> Iterator[str]:
        """The lines with their ends: `\\n`, `\\r\\n` or a lone `\\r`. InputError names the first unreadable line."""
        with self.path.open("rb", buffering=_BLOCK) as raw:
            raw.seek(len(codecs.BOM_UTF8) if self.has_bom else 0)
            # newline="" leaves \r\n inside a cell as it is. surrogateescape, because a strict decoder complains when
            # it reads its block, which is before the rows in front of the bad byte have been looked at.
            text = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="")
            for number, line in enumerate(text, start=1):
                if "\0" in line or not line.isascii():
                    self._refuse_unreadable(line, number)
                yield line

    def fault(self, code: str, line: int | None, message: str, *, hint: str | None = None) -> InputError:
        where = self.name if line is None else f"{self.name}, line {line}"
        return InputError(code, line, f"{where}: {message}", hint=hint)

    def _refuse_unreadable(self, line: str, number: int) -> None:
        if "\0" in line:
            raise self.fault(
                "nul_byte",
                number,
                f"a NUL byte stands at character {line.index(chr(0)) + 1}; no text holds one.",
                hint="The file was damaged or is no text file: export it again.",
            )
        try:
            line.encode()
        except UnicodeEncodeError:
            offset, byte = _first_bad_byte(self.path)
            raise self.fault(
                "encoding",
                number,
                f"byte 0x{byte:02x} at offset {offset} is not UTF-8; the file may be Latin-1 or Windows-1252.",
                hint="Save it as UTF-8 (in Excel: 'CSV UTF-8'), or: iconv -f WINDOWS-1252 -t UTF-8.",
            ) from None


@contextmanager
def opened(source: Source | str | Path, *, stdin: BinaryIO | None = None) -> Iterator[Source]:
    """`source` as something that can be read twice; `-` is standard input.

    Standard input and pipes are copied to a temporary file first, which is gone when the block ends. The format comes
    from the name (.jsonl, .ndjson, .tsv, else CSV); a text without a name is JSONL when it begins with `{`.
    """
    if isinstance(source, Source):
        yield source
    elif str(source) == "-":
        with _spooled(stdin or sys.stdin.buffer, "standard input") as spool:
            yield spool
    elif (path := Path(source)).exists() and not path.is_file() and not path.is_dir():
        # A named pipe, or what a shell gives for <(…): its second reading would be empty.
        with path.open("rb") as pipe, _spooled(pipe, str(source)) as spool:
            yield spool
    else:
        yield _looked_at(path, str(source), _KINDS.get(path.suffix.lower(), "csv"))


@contextmanager
def _spooled(stream: BinaryIO, name: str) -> Iterator[Source]:
    with tempfile.TemporaryDirectory(prefix="abjudge-") as folder:
        path = Path(folder) / "spool"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy, _BLOCK)
        yield _looked_at(path, name, None)


def _looked_at(path: Path, name: str, kind: Kind | None) -> Source:
    """The source at `path`, once its first bytes do not belong to another format."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except FileNotFoundError as error:
        raise InputError("no_file", None, f"There is no file {name}.") from error
    except IsADirectoryError as error:
        raise InputError("no_file", None, f"{name} is a folder, expected a file.") from error
    except OSError as error:
        raise InputError("no_file", None, f"{name} cannot be read: {error.strerror}.") from error
    bom = head.startswith(codecs.BOM_UTF8)
    text = head[len(codecs.BOM_UTF8) :] if bom else head
    source = Source(path, name, kind or ("jsonl" if text.lstrip().startswith(b"{") else "csv"), bom)
    if wide := _wide_encoding(head):
        raise source.fault(
            "encoding",
            1,
            f"the file is {wide}, expected UTF-8.",
            hint=f"Save it as UTF-8 (in Excel: 'CSV UTF-8', not 'Unicode text'), or: iconv -f {wide} -t UTF-8.",
        )
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise source.fault("encoding", 1, f"the file is {what}, expected text in UTF-8.", hint="Export it as CSV.")
    return source


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 or UTF-32, by the byte order mark or by the NULs of two leading ASCII characters; else None."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    nuls = bytes(byte == 0 for byte in head[:4])
    return {b"\0\1\0\1": "UTF-16LE", b"\1\0\1\0": "UTF-16BE", b"\0\1\1\1": "UTF-32LE", b"\1\1\1\0": "UTF-32BE"}.get(
        nuls
    )


def _first_bad_byte(path: Path) -> tuple[int, int]:
    """Offset from the start of the file, and value, of the first byte that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    at = 0
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return at - pending + error.start, error.object[error.start]
            at += len(block)
