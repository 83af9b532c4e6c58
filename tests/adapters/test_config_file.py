import pytest

from abjudge.adapters.config_file import read_config
from abjudge.domain.errors import InputError


def write(tmp_path, text):
    path = tmp_path / "abjudge.toml"
    path.write_text(text, "utf-8")
    return path


def test_what_the_file_says_is_read(tmp_path):
    config, path = read_config(write(tmp_path, 'producer = "openai/gpt-4o"\n[families]\n"gloss:v10" = "qwen"\n'))

    assert config.producer == "openai/gpt-4o"
    assert config.families == {"gloss:v10": "qwen"}
    assert path is not None


def test_without_a_file_in_the_working_folder_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert read_config(None)[1] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('producr = "x"', "line 1.*producr.*Did you mean 'producer'"),
        ("seed = 'x'", "seed"),
        ("= 3", "TOML"),
        ("[familes]\nx = 'y'", "familes.*families"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_suggestion(tmp_path, text, words):
    with pytest.raises(InputError, match=f"(?s){words}"):
        read_config(write(tmp_path, text))


def test_a_named_file_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no file"):
        read_config(tmp_path / "none.toml")
