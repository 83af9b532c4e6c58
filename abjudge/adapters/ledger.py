"""A run as a folder: the plan in `manifest.json`, and what happened in `ledger.jsonl`, one record a line.

The lines are chained: each ends with `chain`, the SHA-256 of the chain before it and of its own bytes up to there. The
first link is the manifest's digest. A line that was edited, dropped or moved breaks the chain from there on.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from abjudge.domain.errors import InputError, LedgerError
from abjudge.domain.fingerprints import fingerprint

MANIFEST, LEDGER = "manifest.json", "ledger.jsonl"
_CLOSING = b', "chain": "%s"}\n'


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class MemoryLedger:
    """Records of a run that nobody asked to keep."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def append(self, record: Mapping[str, Any]) -> None:
        self.records.append(dict(record))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class RunFolder:
    """A new run on disk, with one writer. Every record is on the disk before `append` returns."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], *, now: Callable[[], str] = utc_now) -> None:
        """Write and fsync the manifest, before anything is called. A folder that already holds a run is refused."""
        self._now = now
        self._chain = fingerprint(manifest)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _write_new(folder / MANIFEST, encoded({**manifest, "digest": self._chain}, indent=2))
            self._file = os.open(folder / LEDGER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            _sync_folder(folder)
        except FileExistsError as error:
            raise InputError(
                "run_exists",
                None,
                f"{folder} already holds a run, or is no folder; a run is never written over.",
                hint="Name another folder with --out.",
            ) from error
        except OSError as error:
            raise LedgerError(f"The run folder {folder} cannot be written: {error.strerror}.") from error

    def append(self, record: Mapping[str, Any]) -> None:
        opened = encoded({"ts": self._now(), **record})[:-1]
        link = _link(self._chain, opened)
        try:
            _write_all(self._file, opened + _CLOSING % link.encode())
            os.fsync(self._file)
            self._chain = link
        except OSError as error:
            raise LedgerError(
                f"The ledger cannot be written: {error.strerror}. What was done before is kept."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_run(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The manifest and the records of a run. InputError names the file and line that cannot be read."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        lines = (folder / LEDGER).read_bytes().split(b"\n")
    except FileNotFoundError as error:
        raise InputError(
            "no_run",
            None,
            f"{folder} holds no run: {Path(error.filename).name} is missing.",
            hint="Name a --out folder.",
        ) from error
    except OSError as error:
        raise InputError("no_run", None, f"{folder} cannot be read as a run: {error.strerror}.") from error
    except ValueError as error:
        raise InputError("not_json", 1, f"{path} is no JSON: {error}.") from error
    if not isinstance(manifest, dict):
        raise InputError("not_object", 1, f"{path}: expected a JSON object.")
    return manifest, [_record(line, n, folder / LEDGER) for n, line in enumerate(lines, start=1) if line.strip()]


def chain_faults(folder: Path) -> list[str]:
    """Where the chain of the ledger is broken, one sentence; empty where every line stands as it was written."""
    manifest, _ = read_run(folder)
    chain = str(manifest.get("digest"))
    tail = len(_CLOSING % (b"0" * 64))
    for number, line in enumerate((folder / LEDGER).read_bytes().splitlines(keepends=True), start=1):
        link = _link(chain, line[:-tail])
        if line[-tail:] != _CLOSING % link.encode():
            return [f"ledger.jsonl, line {number}: the chain breaks; a line was edited, dropped, added or moved here."]
        chain = link
    return []


def encoded(document: Any, *, indent: int | None = None) -> bytes:
    """UTF-8 JSON. A lone surrogate, which has no UTF-8, makes the whole document use escapes instead."""
    try:
        return json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False).encode()
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent, allow_nan=False).encode()


def _record(line: bytes, number: int, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError("not_json", number, f"{path}, line {number}: no JSON ({error}).") from error
    if not isinstance(record, dict):
        raise InputError("not_object", number, f"{path}, line {number}: expected a JSON object.")
    return record


def _link(chain: str, opened: bytes) -> str:
    return hashlib.sha256(chain.encode() + opened).hexdigest()


def _write_new(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        _write_all(file, content + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


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
