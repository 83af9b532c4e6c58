"""Names become objects. The only importer of adapters."""

from abjudge.adapters.config_file import read_config
from abjudge.adapters.discovery import discover
from abjudge.adapters.embedded.store import ModelStore
from abjudge.adapters.prompt_files import read_text
from abjudge.wiring.bench import wire
from abjudge.wiring.cast import fetch_model
from abjudge.wiring.choices import Choices
from abjudge.wiring.runs import open_ledger, verify_run

__all__ = [
    "Choices",
    "ModelStore",
    "discover",
    "fetch_model",
    "open_ledger",
    "read_config",
    "read_text",
    "verify_run",
    "wire",
]
