"""Names become objects. The only importer of adapters."""

from abjudge.adapters.config_file import read_config
from abjudge.adapters.discovery import discover
from abjudge.adapters.embedded.store import ModelStore
from abjudge.adapters.prompt_files import read_text
from abjudge.adapters.tables.prompt_table import read_prompts
from abjudge.wiring.bench import wire
from abjudge.wiring.cast import fetch_model
from abjudge.wiring.choices import Choices, SweepChoices
from abjudge.wiring.runs import analyse, doubts_of, is_finished, open_ledger, verify_run, write_reports
from abjudge.wiring.sweeps import ASK_ABOVE, Cost, Prepared, prepare_sweep

__all__ = [
    "ASK_ABOVE",
    "Choices",
    "Cost",
    "ModelStore",
    "Prepared",
    "SweepChoices",
    "analyse",
    "discover",
    "doubts_of",
    "fetch_model",
    "is_finished",
    "open_ledger",
    "prepare_sweep",
    "read_config",
    "read_prompts",
    "read_text",
    "verify_run",
    "wire",
    "write_reports",
]
