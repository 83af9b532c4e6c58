"""System prompts on disk: the shipped ones, or a person's own by path."""

from pathlib import Path

from abjudge.domain.errors import InputError

_PACKAGED = Path(__file__).parent.parent / "_shared" / "system_prompts"  # in a wheel
_SOURCE = Path(__file__).parent.parent.parent / "system_prompts"  # in a checkout


def shipped(name: str) -> Path:
    """Where the shipped prompt `name` lies, in a wheel or in a checkout."""
    for folder in (_PACKAGED, _SOURCE):
        if (folder / name).is_file():
            return folder / name
    raise InputError("missing_prompt", None, f"The shipped prompt {name} is missing: the installation is damaged.")


def read_text(path: Path, *, what: str) -> str:
    """A UTF-8 text file, its line ends as they are; a byte order mark is dropped. InputError says what is wrong."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError("no_file", None, f"{what}: there is no file {path}.") from error
    except IsADirectoryError as error:
        raise InputError("no_file", None, f"{what}: {path} is a folder, expected a file.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            "encoding", None, f"{what}: {path} is not UTF-8 (byte {error.start}).", hint="Save it as UTF-8."
        ) from error
    except OSError as error:
        raise InputError("no_file", None, f"{what}: {path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InputError("no_file", None, f"{what}: {str(path)!r} is no path: {error}.") from error
    if "\x00" in text:
        raise InputError("nul_byte", None, f"{what}: {path} holds a NUL byte, so it is no text file.")
    if not text.strip():
        raise InputError("empty_file", None, f"{what}: {path} is empty.")
    return text


def local_path(text: str, *, what: str) -> Path:
    """The path, `~` and `~user` resolved; InputError where there is no such user."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InputError("no_file", None, f"{what}: {text}: {error}") from error
