"""Where scaffolds come from: a file, a string, an HTTP service of the Ejentum shape, or nowhere."""

import asyncio
import difflib
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from abjudge.adapters.prompt_files import local_path, read_text
from abjudge.adapters.served.transport import limited
from abjudge.domain.errors import InputError, Permanent, Transient
from abjudge.domain.prompts import holds_marks
from abjudge.domain.redaction import redact
from abjudge.domain.strict_json import read_json, whole_characters
from abjudge.ports import Scaffold

if TYPE_CHECKING:
    import aiohttp

MODES = ("reasoning", "reasoning-multi", "anti-deception", "code", "code-multi", "memory", "memory-multi")
EJENTUM_URL = "https://api.ejentum.com/harness/"
_KINDS = ("ejentum:MODE", "file:PATH", "text:STRING", "http:URL", "none")


class NoScaffold:
    """The scaffold `none`: both arms are asked the same, which is the A-versus-A control."""

    name = "none"

    async def retrieve(self, query: str) -> None:
        return None

    async def close(self) -> None: ...


class GivenResponse(NoScaffold):
    """In a scaffold's place where the responses exist already: the arm under test is the second column."""

    name = "response_2"


class FixedScaffold:
    """The same text for every prompt."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    async def retrieve(self, query: str) -> str:
        return self._text

    async def close(self) -> None: ...


class HttpScaffold:
    """A service that answers `{"query", "mode"}` with `[{"<mode>": "<scaffold>"}]`."""

    def __init__(self, name: str, url: str, mode: str, *, key: str | None, timeout_s: float) -> None:
        self.name = name
        self._url, self._mode, self._key, self._timeout_s = url, mode, key, timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def retrieve(self, query: str) -> str:
        import aiohttp

        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_s)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=True)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"query": query, "mode": self._mode}
        try:
            async with self._session.post(self._url, json=body, headers=headers, allow_redirects=False) as answer:
                content = await limited(answer)
                status, wait = answer.status, answer.headers.get("Retry-After")
        except TimeoutError as error:
            raise Transient("timeout", f"{self._where()} gave no answer within {self._timeout_s:g} s.") from error
        except aiohttp.InvalidURL as error:
            raise InputError("bad_scaffold", None, f"{self._where()} is no address.") from error
        except aiohttp.ClientError as error:
            raise Transient(
                "unreachable",
                f"{self._where()} cannot be reached: {redact(str(error), self._secrets())}.",
                hint="Check the address and that the service runs.",
            ) from error
        if status != 200:
            raise self._fault(status, content, wait)
        return self._read(content)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)  # lets the transport close before the loop does

    def _fault(self, status: int, content: bytes, wait: str | None) -> Permanent | Transient:
        said = f"{self._where()} answered HTTP {status}: {self._quote(content)}"
        if status in (401, 403):
            return Permanent("key_refused", said, hint="Check EJENTUM_API_KEY." if self._key else None)
        if status == 429:
            seconds = float(wait) if wait and wait.strip().isdigit() else None
            return Transient("rate_limited", said, retry_after_s=seconds)
        if status >= 500 or status == 408:
            return Transient("unavailable", said)
        return Permanent("scaffold_refused", said, hint="Check the address and the mode.")

    def _read(self, content: bytes) -> str:
        try:
            answer: Any = read_json(content)
        except ValueError as error:
            raise Permanent("not_json", f"{self._where()} answered no JSON: {self._quote(content)}") from error
        first = answer[0] if isinstance(answer, list) and answer else None
        if not isinstance(first, dict) or self._mode not in first:
            keys = ", ".join(sorted(map(str, first))) if isinstance(first, dict) else "no object in a list"
            raise Permanent(
                "scaffold_shape",
                f"{self._where()}: expected a list with one object that has the key {self._mode!r}, got {keys}.",
            )
        text = first[self._mode]
        if not isinstance(text, str) or not text.strip():
            raise Permanent("scaffold_empty", f"{self._where()} gave an empty scaffold for the mode {self._mode!r}.")
        if self._key and self._key in text:
            raise Permanent("scaffold_shape", f"{self._where()} gave our own key back inside the scaffold.")
        if holds_marks(text):
            raise Permanent("scaffold_marks", f"{self._where()} gave a scaffold that ends or begins its own block.")
        return whole_characters(text)

    def _where(self) -> str:
        return f"The scaffold service {redact(self._url, self._secrets())}"

    def _quote(self, content: bytes) -> str:
        # Redacted first: a cut could leave half a key.
        said = redact(content[:4000].decode("utf-8", "replace"), self._secrets())
        return repr(said[:80])

    def _secrets(self) -> tuple[str, ...]:
        return (self._key,) if self._key else ()


def parse_scaffold(spec: str, *, environ: Mapping[str, str], timeout_s: float) -> Scaffold:
    """The scaffold that `spec` names; files are read at once. InputError for a spec that means nothing."""
    kind, colon, rest = spec.partition(":")
    if spec == "none":
        return NoScaffold()
    if kind == "text" and colon:
        if not rest.strip():
            raise InputError("bad_scaffold", None, "The scaffold 'text:' is empty.", hint="Write text:STRING.")
        _refuse_marks(rest, "--scaffold text:…")
        return FixedScaffold(f"text:{hashlib.sha256(rest.encode('utf-8', 'replace')).hexdigest()[:8]}", rest)
    if kind == "file" and rest:
        words = read_text(local_path(rest, what="--scaffold"), what="--scaffold")
        _refuse_marks(words, f"--scaffold {spec}")
        return FixedScaffold(spec, words)
    if kind == "ejentum":
        return _ejentum(spec, rest or "reasoning", environ, timeout_s)
    if kind in ("http", "https") and rest:
        return _http(spec, spec if rest.startswith("//") else rest, timeout_s)
    close = difflib.get_close_matches(kind, [k.partition(":")[0] for k in _KINDS], n=1)
    hint = f"Did you mean {close[0]!r}?" if close else None
    raise InputError("bad_scaffold", None, f"--scaffold {spec!r}: expected one of {', '.join(_KINDS)}.", hint=hint)


def _refuse_marks(text: str, what: str) -> None:
    if holds_marks(text):
        said = f"{what}: the text holds the marks of the scaffold block, so the model could not tell where it ends."
        raise InputError("scaffold_marks", None, said, hint="Take [COGNITIVE SCAFFOLD] and its end mark out of it.")


def _ejentum(spec: str, mode: str, environ: Mapping[str, str], timeout_s: float) -> HttpScaffold:
    if mode not in MODES:
        close = difflib.get_close_matches(mode, MODES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else None
        raise InputError("bad_scaffold", None, f"--scaffold {spec}: the modes are {', '.join(MODES)}.", hint=hint)
    key = environ.get("EJENTUM_API_KEY")
    if not key:
        raise Permanent(
            "key_missing",
            f"The scaffold {spec} needs a key, and EJENTUM_API_KEY is not set.",
            hint="Set it, or take another scaffold: file:PATH, text:STRING, http:URL or none.",
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        said = "EJENTUM_API_KEY holds a space, a line break or a character that no key has."
        raise Permanent("key_refused", said, hint="It was probably cut or pasted with something else.")
    url = environ.get("EJENTUM_API_URL") or EJENTUM_URL
    if "@" in urlsplit(url).netloc:
        raise InputError("bad_scaffold", None, "EJENTUM_API_URL holds a user or a password beside the key.")
    return HttpScaffold(f"ejentum:{mode}", _address(url, spec), mode, key=key, timeout_s=timeout_s)


def _http(spec: str, url: str, timeout_s: float) -> HttpScaffold:
    """The part after `#` names the mode; a fragment never goes over the wire."""
    address, _, mode = _address(url, spec).partition("#")
    return HttpScaffold(redact(spec, ()), address, mode or "reasoning", key=None, timeout_s=timeout_s)


def _address(url: str, spec: str) -> str:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")
    except ValueError:
        sound = False
    if not sound or any(c.isspace() for c in url):
        raise InputError(
            "bad_scaffold", None, f"--scaffold {redact(spec, ())}: {redact(url, ())!r} is no http address."
        )
    return url
