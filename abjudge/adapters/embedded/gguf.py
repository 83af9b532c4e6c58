"""The head of a GGUF model file: enough to know what it is, and to refuse what native code would choke on."""

import mmap
import struct
from pathlib import Path
from typing import Any

from abjudge.domain.errors import Permanent
from abjudge.domain.values import Value

# GGUF value types by number: the scalars by their struct format, then strings and arrays.
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9

# Far above any real file: a count beyond them is garbage, and would keep us reading for ever.
MOST = {"keys": 1 << 16, "tensors": 1 << 20, "name": 1 << 16, "dimensions": 8, "nesting": 4}


class GgufHead(Value):
    """What the metadata of a model file say. `context` is the length it was trained on, None where not told."""

    version: int
    architecture: str | None = None
    name: str | None = None
    context: int | None = None
    has_chat_template: bool = False


class _Broken(Exception):
    """Why this is no model file."""


def read_gguf_head(path: Path) -> GgufHead:
    """Read the metadata, and check that the tensors they promise are inside the file.

    Raises `Permanent` (`bad_model_file`) for anything that is not a whole GGUF file of version 2 or 3. The numbers in
    the tensors are not looked at.
    """
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            if size < 24:
                raise _Broken(f"it has {size} bytes")
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).head()
    except (_Broken, struct.error, UnicodeDecodeError, OSError) as exc:
        cause = exc if isinstance(exc, _Broken) else "its head is cut or damaged"
        raise Permanent(
            "bad_model_file",
            f"{path} is no usable GGUF model file: {cause}.",
            hint="Fetch it again, or name another file.",
        ) from exc


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def head(self) -> GgufHead:
        if self.data[:4] != b"GGUF":
            raise _Broken(f"it begins with {self.data[:4]!r} where GGUF is expected")
        self.at = 4
        version = self.scalar("I")
        if version not in (2, 3):
            raise _Broken(f"version {version}, expected 2 or 3")
        tensors = self.count("tensors")
        meta = dict(self.pair() for _ in range(self.count("keys")))
        self.check_tensors(tensors, meta.get("general.alignment"))
        architecture = _text(meta.get("general.architecture"))
        context = meta.get(f"{architecture}.context_length")
        return GgufHead(
            version=version,
            architecture=architecture,
            name=_text(meta.get("general.name")),
            context=context if isinstance(context, int) and context > 0 else None,
            has_chat_template=bool(_text(meta.get("tokenizer.chat_template"))),
        )

    def check_tensors(self, tensors: int, alignment: Any) -> None:
        last = -1
        for _ in range(tensors):
            self.text(MOST["name"])
            dimensions = self.scalar("I")
            if dimensions > MOST["dimensions"]:
                raise _Broken(f"a tensor of {dimensions} dimensions")
            self.skip(8 * dimensions + 4)
            last = max(last, self.scalar("Q"))
        step = alignment if isinstance(alignment, int) and alignment > 0 else 32
        begin = -(-self.at // step) * step
        if tensors and begin + last >= len(self.data):
            raise _Broken(f"it has {len(self.data)} bytes and its tensors begin as far as {begin + last}: it was cut")

    def pair(self) -> tuple[str, Any]:
        key = self.text(MOST["name"])
        return key, self.value(self.scalar("I"))

    def value(self, kind: int, nesting: int = 0) -> Any:
        """A scalar or a string; arrays are passed over, and come out as None."""
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == STRING:
            return self.text(len(self.data))
        if kind != ARRAY or nesting >= MOST["nesting"]:
            raise _Broken(f"a value of unknown type {kind}")
        inner, length = self.scalar("I"), self.scalar("Q")
        if inner in SCALARS:
            self.skip(length * struct.calcsize(SCALARS[inner]))
        elif inner == STRING:
            for _ in range(length):  # ends with the file at the latest, whatever the length claims
                self.skip(self.scalar("Q"))
        else:
            for _ in range(length):
                self.value(inner, nesting + 1)
        return None

    def count(self, what: str) -> int:
        number = int(self.scalar("Q"))
        if number > MOST[what]:
            raise _Broken(f"{number} {what}")
        return number

    def scalar(self, form: str) -> Any:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self, most: int) -> str:
        length = self.scalar("Q")
        if length > min(most, len(self.data) - self.at):
            raise _Broken(f"a text of {length} bytes")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8")

    def skip(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise _Broken("its head promises more than the file holds")
        self.at += size


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
