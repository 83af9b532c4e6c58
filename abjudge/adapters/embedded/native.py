"""Starting llama.cpp inside this process, without what it would otherwise take: a port, the terminal, Ctrl-C."""

import contextlib
import ctypes
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from abjudge.domain.errors import Permanent

# How many tokens of a prompt are read at a time: half a second on a slow core, which is how long an abort may take.
# 512 would be some 5 % faster.
BATCH = 64

SOCKET_PATH_MAX = 100  # the system's own limit is 108 bytes, on some 104


def load_server(path: Path, *, context: int) -> Any:
    """The server object of xllamacpp with the model loaded; one slot, one thread, nothing printed, no open port.

    Blocks the whole interpreter while it loads (0.4 s for 100 MB, 1 to 2 s for 250 MB): xllamacpp keeps the lock.
    Raises `Permanent` where the file is none that llama.cpp can load.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_batch = params.n_ubatch = BATCH
    params.n_parallel = 1  # one call at a time: a batch shared with another call may change the last digits
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 0
    params.offline = True
    params.ui = False
    params.n_threads_http = 1
    params.verbosity = -1  # the only level at which llama.cpp prints nothing at all
    with _hidden_address(params), _kept_signals():
        try:
            return xllamacpp.Server(params)
        except RuntimeError as exc:
            raise Permanent(
                "bad_model_file",
                f"llama.cpp could not load {path}: damaged, of an unknown kind, or larger than the memory.",
                hint="Fetch the file again, or take another model.",
            ) from exc


@contextlib.contextmanager
def _hidden_address(params: Any) -> Iterator[None]:
    # The server cannot be told not to listen. It listens on a socket file that is deleted once it is up, so that
    # nobody can find it; where that cannot be, on a free loopback port behind a key that nobody knows.
    params.api_keys = [secrets.token_urlsafe(32)]
    with tempfile.TemporaryDirectory(prefix="abjudge-", ignore_cleanup_errors=True) as folder:
        socket = Path(folder) / "llama.sock"
        if os.name == "posix" and len(os.fsencode(socket)) <= SOCKET_PATH_MAX:
            params.hostnames = [str(socket)]
        else:
            params.hostnames, params.port = ["127.0.0.1"], 0
        yield


@contextlib.contextmanager
def _kept_signals() -> Iterator[None]:
    # xllamacpp takes over SIGINT and SIGTERM while it loads, so that Ctrl-C would end the model and not the program.
    # `signal.signal` could put ours back, but only from the main thread, and would lose flags that asyncio set.
    if os.name != "posix":
        yield
        return
    libc = ctypes.CDLL(None)
    saved = {number: ctypes.create_string_buffer(512) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, action in saved.items():
        libc.sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in saved.items():
            libc.sigaction(int(number), action, None)
