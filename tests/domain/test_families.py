import pytest

from abjudge.domain.families import declared, lineage_of, spoken_names


@pytest.mark.parametrize(
    ("model", "owners"),
    [
        ("gemini/gemini-2.5-flash", {"Google"}),
        ("gemini/gemma-3-27b-it", {"Google"}),
        ("embedded/gemma3-270m", {"Google"}),
        ("embedded/smollm2-135m", {"Hugging Face"}),
        ("ollama/qwen3", {"Alibaba"}),
        ("ollama_chat/qwq:32b", {"Alibaba"}),
        ("openai/gpt-4o", {"OpenAI"}),
        ("openai/o3-mini", {"OpenAI"}),
        ("groq/openai/gpt-oss-20b", {"OpenAI"}),
        ("ollama_chat/deepseek-r1:7b", {"DeepSeek", "Alibaba"}),
        ("together_ai/deepseek-ai/DeepSeek-R1-Distill-Llama-70B", {"DeepSeek", "Meta"}),
        ("bedrock/anthropic.claude-3-5-sonnet", {"Anthropic"}),
        ("ollama_chat/vicuna:13b", {"Meta"}),
        ("ollama_chat/zephyr", {"Mistral AI"}),
        ("openrouter/meta-llama/llama-3.1-8b", {"Meta"}),
        ("ollama_chat/phi4", {"Microsoft"}),
    ],
)
def test_a_model_belongs_to_those_whose_training_is_in_it(model, owners):
    assert set(lineage_of(model).owners) == owners


@pytest.mark.parametrize(
    "model", ["openai/local-model", "ollama_chat/gloss:v10", "embedded/mine.gguf", "ollama_chat/philosopher"]
)
def test_what_the_table_does_not_know_is_nobodys(model):
    assert lineage_of(model) is None


def test_gemma_and_gemini_are_no_strangers():
    assert lineage_of("ollama_chat/gemma3:4b").shares_with(lineage_of("gemini/gemini-2.5-pro")) == ("Google",)


def test_a_declared_base_counts_like_a_known_one():
    gloss = declared("qwen")

    assert gloss.declared
    assert gloss.shares_with(lineage_of("ollama_chat/qwen3:8b")) == ("Alibaba",)


def test_a_declared_owner_stands_for_the_house():
    assert declared("Google").shares_with(lineage_of("gemini/gemini-2.5-pro")) == ("Google",)


def test_a_new_name_is_a_family_of_its_own():
    assert declared("house-blend").shares_with(declared("House-Blend")) == ("house-blend",)
    assert not declared("house-blend").shares_with(lineage_of("openai/gpt-4o"))


def test_a_model_can_give_itself_away_by_tag_family_and_maker():
    assert {"qwen3:8b", "qwen3", "qwen", "Alibaba"} <= set(spoken_names("ollama_chat/qwen3:8b"))
