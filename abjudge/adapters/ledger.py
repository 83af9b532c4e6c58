"""A run as a folder: the plan in `manifest.json`, and what happened in `ledger.jsonl`, one record a line.

The manifest is one JSON object; its cases come last, each on a line of its own, so that a million of them can be read
one by one. The ledger's lines are chained: each ends with `chain`, the SHA-256 of the chain before it and of its own
bytes up to there. The first link is the manifest's digest. A line that was edited, dropped or moved breaks the chain.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from abjudge.domain.cases import Case
from abjudge.domain.errors import InputError, LedgerError
from abjudge.domain.fingerprints import PREFIX, fingerprint
from abjudge.domain.records import Record
from abjudge.domain.strict_json import read_json

MANIFEST, LEDGER = "manifest.json", "ledger.jsonl"
SYNC_S = 0.5  # how old a record may be before it is forced to the disk
_OPENING = b'{"ts":"'
_CLOSING = b',"chain":"%s"}\n'
_TAIL = len(_CLOSING % (b"0" * 64))
_CASES = b'"cases": [\n'


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class MemoryLedger:
    """Records of a run that nobody asked to keep."""

    def append(self, record: Record) -> None: ...

    def append_once(self, record: Record) -> None: ...

    def sync(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class RunFolder:
    """The ledger of a run on disk, with one writer.

    A record is with the operating system when `append` returns, so no crash of ours loses it; it is forced to the disk
    at most half a second later while records come, by `sync`, and on leaving.
    """

    def __init__(self, file: int, chain: str, *, now: Callable[[], str] = utc_now) -> None:
        self._file, self._chain, self._now = file, chain, now
        self._once: set[str] = set()
        self._synced = time.monotonic()
        self._dirty = False

    @classmethod
    def create(
        cls, folder: Path, plan: Mapping[str, Any], cases: Iterable[Case], *, now: Callable[[], str] = utc_now
    ) -> Self:
        """Write and fsync the manifest, before anything is called. A folder that already holds a run is refused."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise FileExistsError(folder)
            digest = _write_manifest(folder / MANIFEST, plan, cases)
            file = os.open(folder / LEDGER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            _claim(file, folder)
            _sync_folder(folder)
        except (FileExistsError, NotADirectoryError) as error:
            raise InputError(
                "run_exists",
                None,
                f"{folder} already holds a run or other files, or is no folder; a run is never written over.",
                hint="Name another folder with --out, or go on with --resume.",
            ) from error
        except OSError as error:
            raise LedgerError(f"The run folder {folder} cannot be written: {error.strerror}.") from error
        return cls(file, digest, now=now)

    @classmethod
    def reopen(cls, folder: Path, *, now: Callable[[], str] = utc_now) -> Self:
        """Go on with a run after its last whole record. A line that was torn by a crash is ended, not removed."""
        path = folder / LEDGER
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise LedgerError(f"The ledger {path} cannot be written: {error.strerror}.") from error
        _claim(file, folder)
        if faults := chain_faults(folder):
            os.close(file)
            said = f"{folder} is not as it was written: {faults[0]}"
            raise InputError("not_intact", None, said, hint=f"Look at it with: abjudge verify {folder}")
        chain = read_manifest(folder).digest
        torn = 0
        for line in _lines(path):
            if _is_closed(line):
                chain, torn = line[-_TAIL:].rpartition(b'"chain":"')[2][:64].decode(), 0
            else:
                torn += len(line)
        if torn:
            _write_all(file, b"\n")
        ledger = cls(file, chain, now=now)
        ledger._line({"kind": "resumed", "torn_bytes": torn})
        return ledger

    def append(self, record: Record) -> None:
        self._line(record)

    def append_once(self, record: Record) -> None:
        name = fingerprint(record)
        if name not in self._once:
            self._once.add(name)
            self._line(record)

    def sync(self) -> None:
        """Force what was appended to the disk."""
        if self._dirty and self._file >= 0:
            self._dirty = False
            self._synced = time.monotonic()
            os.fsync(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        if self._file >= 0:
            if not any(fault):
                self._line({"kind": "closed"})
            self.sync()
            os.close(self._file)
            self._file = -1

    def _line(self, record: Record | dict[str, Any]) -> None:
        opened = b'{"ts":"%s",' % self._now().encode() + _encoded(record)[1:-1]
        link = _link(self._chain, opened)
        try:
            _write_all(self._file, opened + _CLOSING % link.encode())
            self._chain, self._dirty = link, True
            if time.monotonic() - self._synced > SYNC_S:
                self.sync()
        except OSError as error:
            said = f"The ledger cannot be written: {error.strerror}. What was done before is kept."
            raise LedgerError(said, hint="Make room, and go on with --resume.") from error


def _claim(file: int, folder: Path) -> None:
    """One writer: the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        said = f"Another process is writing the run in {folder}."
        raise InputError("run_busy", None, said, hint="Wait for it to end, or stop it first.") from error


class Manifest:
    """The plan of a run: its header at once, its cases one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header = self._read_header()

    @property
    def digest(self) -> str:
        return str(self.header.get("digest"))

    def cases(self) -> Iterator[Case]:
        """The cases in the order in which they are run. InputError names a line that is none."""
        number = 0
        with self.path.open("rb") as file:
            for line in file:
                number += 1
                if line == _CASES:
                    break
            for line in file:
                number += 1
                if line.startswith(b"]"):
                    return
                try:
                    yield Case.model_validate_json(line.strip().removesuffix(b","))
                except ValueError as error:
                    raise InputError("not_a_case", number, f"{self.path}, line {number}: no case.") from error

    def fault(self) -> str | None:
        """What is wrong with the plan itself; None where it is the one its digest was made for."""
        cases = hashlib.sha256()
        try:
            for case in self.cases():
                cases.update(_encoded_case(case))
        except InputError as error:
            return str(error)
        header = {key: value for key, value in self.header.items() if key != "digest"}
        if header.get("cases_digest") != PREFIX + cases.hexdigest() or self.digest != fingerprint(header):
            return f"{MANIFEST}: the plan is not the one its digest was made for."
        return None

    def _read_header(self) -> dict[str, Any]:
        lines: list[bytes] = []
        try:
            with self.path.open("rb") as file:
                for line in file:
                    if line == _CASES:
                        break
                    lines.append(line)
        except FileNotFoundError as error:
            said = f"{self.path.parent} holds no run: {self.path.name} is missing."
            raise InputError("no_run", None, said, hint="Name a --out folder.") from error
        except OSError as error:
            raise InputError("no_run", None, f"{self.path} cannot be read: {error.strerror}.") from error
        text = b"".join(lines).rstrip().removesuffix(b",")
        try:
            header: Any = read_json(text + (b"" if text.endswith(b"}") else b"}"))
        except ValueError as error:
            raise InputError("not_json", 1, f"{self.path} is no JSON: {error}.") from error
        if not isinstance(header, dict):
            raise InputError("not_object", 1, f"{self.path}: expected a JSON object.")
        return header


def read_manifest(folder: Path) -> Manifest:
    return Manifest(folder / MANIFEST)


def read_records(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each whole record of a ledger with its line, counted from 1. A torn line is passed over."""
    path = folder / LEDGER
    for number, line in enumerate(_lines(path), start=1):
        if not _is_closed(line):
            continue
        try:
            record = read_json(line)
        except ValueError as error:
            raise InputError("not_json", number, f"{path}, line {number}: no JSON ({error}).") from error
        if not isinstance(record, dict):
            raise InputError("not_object", number, f"{path}, line {number}: expected a JSON object.")
        del record["ts"], record["chain"]
        yield number, record


def chain_faults(folder: Path) -> list[str]:
    """Where the chain of the ledger is broken, one sentence; empty where every line stands as it was written.

    A line that a crash cut off is no fault: at the end without a line's end, or where a `resumed` record follows.
    """
    chain, torn = read_manifest(folder).digest, b""
    number = 0
    for number, line in enumerate(_lines(folder / LEDGER), start=1):
        if torn and (not _begins_well(torn) or b'"kind":"resumed"' not in line[:80]):
            return [f"{LEDGER}, line {number - 1}: a line was cut or edited."]
        torn = b"" if _is_closed(line) else line
        if torn:
            continue
        link = _link(chain, line[:-_TAIL])
        if line[-_TAIL:] != _CLOSING % link.encode():
            return [f"{LEDGER}, line {number}: the chain breaks; a line was edited, dropped, added or moved here."]
        chain = link
    if torn and (torn.endswith(b"\n") or not _begins_well(torn)):
        return [f"{LEDGER}, line {number}: a line was cut or edited."]
    return []


def is_closed(folder: Path) -> bool:
    """Whether the run was brought to its end: lines cut off at the end of a ledger leave no other trace."""
    last = b""
    for line in _lines(folder / LEDGER):
        last = line
    return _is_closed(last) and b'"kind":"closed"' in last[:80]


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError as error:
        raise InputError("no_run", None, f"{path.parent} holds no run: {path.name} is missing.") from error
    except OSError as error:
        raise InputError("no_run", None, f"{path} cannot be read: {error.strerror}.") from error


def _begins_well(torn: bytes) -> bool:
    """Whether this can be the beginning of a line of ours."""
    return torn.startswith(_OPENING[: len(torn.rstrip())]) and bool(torn.strip())


def _is_closed(line: bytes) -> bool:
    return line[-_TAIL : -_TAIL + 10] == _CLOSING[:10] and line.endswith(b'"}\n') and line.startswith(_OPENING)


def _encoded(record: Record | dict[str, Any]) -> bytes:
    """UTF-8 JSON. A lone surrogate, which has no UTF-8, makes the whole record use escapes instead."""
    if isinstance(record, dict):
        return json.dumps(record, separators=(",", ":")).encode()
    try:
        return record.model_dump_json().encode()
    except (UnicodeEncodeError, ValueError):
        return json.dumps(record.model_dump(), default=str, allow_nan=False).encode()


def _write_manifest(path: Path, plan: Mapping[str, Any], cases: Iterable[Case]) -> str:
    """Two files' worth of work for one file: the digest of the cases stands before them."""
    body, digest, count = path.with_suffix(".cases"), hashlib.sha256(), 0
    if path.exists():
        raise FileExistsError(path)
    with body.open("wb") as out:
        for case in cases:
            line = _encoded_case(case)
            digest.update(line)
            out.write((b",\n" if count else b"") + line)
            count += 1
    header = {**plan, "cases_count": count, "cases_digest": PREFIX + digest.hexdigest()}
    header["digest"] = fingerprint(header)
    with path.open("xb") as out, body.open("rb") as source:
        out.write(json.dumps(header, indent=2).encode().removesuffix(b"\n}") + b",\n" + _CASES)
        while block := source.read(1 << 20):
            out.write(block)
        out.write(b"\n]}\n")
        out.flush()
        os.fsync(out.fileno())
    body.unlink()
    return str(header["digest"])


def _encoded_case(case: Case) -> bytes:
    try:
        return case.model_dump_json().encode()
    except (UnicodeEncodeError, ValueError):
        return json.dumps(case.model_dump()).encode()


def _link(chain: str, opened: bytes) -> str:
    return hashlib.sha256(chain.encode() + opened).hexdigest()


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened for fsync there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
