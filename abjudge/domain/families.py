"""Which family a model belongs to, and who owns it: a judge from the same house shares the same habits.

The table goes by the model's name, never by the route: `ollama/qwen3` is Alibaba's, `openai/local-model` is nobody's
that we know. A fine-tune or distillate belongs to its maker and to its base. What the table does not know must be
declared by the person who does.
"""

import re

from abjudge.domain.errors import InputError
from abjudge.domain.values import Value


class Lineage(Value):
    """A model's family, and all owners whose training is in it (maker first, then bases)."""

    family: str
    owners: tuple[str, ...]
    declared: bool = False

    def shares_with(self, other: "Lineage") -> tuple[str, ...]:
        """The owners that both have, or the family where both are of one; empty where they are strangers."""
        common = tuple(owner for owner in self.owners if owner in other.owners)
        return common or ((self.family,) if self.family == other.family else ())


# Longest story first: a distillate names its base, so it must be met before the base does.
_TABLE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (r"deepseek-r1-distill-qwen|deepseek-r1-0528-qwen3", "deepseek-r1-distill", ("DeepSeek", "Alibaba")),
    (r"deepseek-r1-distill-llama", "deepseek-r1-distill", ("DeepSeek", "Meta")),
    (r"deepseek-r1:(1\.5|7|14|32)b", "deepseek-r1-distill", ("DeepSeek", "Alibaba")),
    (r"deepseek-r1:8b", "deepseek-r1-distill", ("DeepSeek", "Alibaba", "Meta")),
    (r"deepseek-r1:70b", "deepseek-r1-distill", ("DeepSeek", "Meta")),
    (r"deepseek|r1-1776", "deepseek", ("DeepSeek",)),
    (r"nemotron-(nano|h|3)|nemotron-?4", "nemotron", ("NVIDIA",)),
    (r"nemotron", "nemotron", ("NVIDIA", "Meta")),
    (r"hermes-?[34]|hermes3|nous-hermes|openhermes|hermes", "hermes", ("Nous Research", "Meta", "Mistral AI")),
    (r"vicuna|wizardlm|alpaca|orca-mini|guanaco|koala", "llama-finetune", ("Meta",)),
    (r"tulu", "tulu", ("Ai2", "Meta")),
    (r"zephyr|openchat|starling|neural-chat|notus", "mistral-finetune", ("Mistral AI",)),
    (r"dolphin-?(mixtral|mistral)|dolphin-mistral", "dolphin", ("Mistral AI",)),
    (r"dolphin-?llama|dolphin3|samantha-llama", "dolphin", ("Meta",)),
    (
        r"openthinker|marco-o1|skywork-o1|sky-t1|simplescaling|qwenlong|acemath|deepcoder|deepscaler",
        "qwen-finetune",
        ("Alibaba",),
    ),
    (r"cogito", "cogito", ("Deep Cogito", "Meta", "Alibaba")),
    (r"medgemma|shieldgemma|codegemma|functiongemma|translategemma|gemma", "gemma", ("Google",)),
    (r"gemini|palm-2|text-bison|chat-bison|learnlm", "gemini", ("Google",)),
    (r"gpt-oss", "gpt-oss", ("OpenAI",)),
    (r"chatgpt|gpt-?[345]|\bo[134](-|$|:)|davinci|codex", "gpt", ("OpenAI",)),
    (r"claude", "claude", ("Anthropic",)),
    (r"qwen|qwq|qvq", "qwen", ("Alibaba",)),
    (r"mistral|mixtral|ministral|codestral|devstral|magistral|pixtral|mathstral|voxtral", "mistral", ("Mistral AI",)),
    (r"code-?llama|tiny-?llama|meta-?llama|llama-?\d|llama(?![-_]?cpp|file)", "llama", ("Meta",)),
    (r"\bphi[-:\d]|\bphi$", "phi", ("Microsoft",)),
    (r"smol-?lm|smolvlm", "smollm", ("Hugging Face",)),
    (r"command-?(r|a)|c4ai|\baya\b|aya-", "command", ("Cohere",)),
    (r"grok", "grok", ("xAI",)),
    (r"granite", "granite", ("IBM",)),
    (r"falcon", "falcon", ("TII",)),
    (r"olmo|molmo", "olmo", ("Ai2",)),
    (r"internlm|intern-s", "internlm", ("Shanghai AI Laboratory",)),
    (r"glm-|chatglm|\bglm\d", "glm", ("Zhipu AI",)),
    (r"kimi|moonshot", "kimi", ("Moonshot AI",)),
    (r"minimax|abab", "minimax", ("MiniMax",)),
    (r"ernie", "ernie", ("Baidu",)),
    (r"hunyuan", "hunyuan", ("Tencent",)),
    (r"doubao|seed-oss", "seed", ("ByteDance",)),
    (r"\byi-|\byi:|\byi$", "yi", ("01.AI",)),
    (r"baichuan", "baichuan", ("Baichuan",)),
    (r"nova-(micro|lite|pro|premier)|titan-text", "nova", ("Amazon",)),
    (r"jamba|\bj2-", "jamba", ("AI21 Labs",)),
    (r"dbrx", "dbrx", ("Databricks",)),
    (r"solar", "solar", ("Upstage",)),
    (r"exaone", "exaone", ("LG AI Research",)),
    (r"\blfm", "lfm", ("Liquid AI",)),
    (r"stablelm|stable-?lm|stable-beluga", "stablelm", ("Stability AI",)),
    (r"pythia|gpt-neo|gpt-j", "pythia", ("EleutherAI",)),
    (r"bloom", "bloom", ("BigScience",)),
    (r"reka", "reka", ("Reka",)),
    (r"sonar", "sonar", ("Perplexity", "Meta")),
    (r"palmyra", "palmyra", ("Writer",)),
)
_PATTERNS = tuple((re.compile(p), family, owners) for p, family, owners in _TABLE)

# Hosts that serve one house's models only, so the route settles what a bare name leaves open.
_HOUSES = {
    "anthropic": ("claude", ("Anthropic",)),
    "gemini": ("gemini", ("Google",)),
    "mistral": ("mistral", ("Mistral AI",)),
    "deepseek": ("deepseek", ("DeepSeek",)),
    "xai": ("grok", ("xAI",)),
    "cohere": ("command", ("Cohere",)),
    "cohere_chat": ("command", ("Cohere",)),
    "dashscope": ("qwen", ("Alibaba",)),
    "moonshot": ("kimi", ("Moonshot AI",)),
}


def lineage_of(model: str) -> Lineage | None:
    """The lineage of a litellm model string, or None where nothing is known and somebody must say."""
    provider, _, rest = model.lower().partition("/")
    name = rest or provider
    matches = [(family, owners) for pattern, family, owners in _PATTERNS if pattern.search(name)]
    if not matches and rest and provider in _HOUSES:
        matches = [_HOUSES[provider]]
    if not matches:
        return None
    # All owners, not the first: `Llama-3-Qwen-merge` must not be judged by either house.
    owners = dict.fromkeys(owner for _, names in matches for owner in names)
    return Lineage(family=matches[0][0], owners=tuple(owners))


def declared(word: str) -> Lineage:
    """The lineage somebody declares: a family or owner of the table, or a new name that stands for itself."""
    if not word.strip():
        raise InputError("bad_family", None, "A family that is declared needs a name.", hint="Such as qwen or llama.")
    known = lineage_of(word)
    if known is not None:
        return known.with_(declared=True)
    for _, family, owners in _PATTERNS:
        if word.lower() in {family, *(owner.lower() for owner in owners)}:
            named = tuple(owner for owner in owners if owner.lower() == word.lower())
            return Lineage(family=word.lower() if named else family, owners=named or owners, declared=True)
    return Lineage(family=word.lower(), owners=(word,), declared=True)


def spoken_names(model: str) -> tuple[str, ...]:
    """Words by which a response of this model might give itself away."""
    name = model.rpartition("/")[2]
    lineage = lineage_of(model)
    stem = re.split(r"[:@]", name)[0]
    known = {"gpt": ("ChatGPT", "GPT-4", "GPT-4o", "GPT-5"), "claude": ("Claude",), "gemini": ("Gemini",)}
    family = known.get(lineage.family, (lineage.family,)) if lineage else ()
    return tuple(
        dict.fromkeys(word for word in (name, stem, *family, *(lineage.owners if lineage else ())) if len(word) > 2)
    )
