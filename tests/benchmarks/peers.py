"""The same work done by others: two responses to each prompt, one verdict on them. One function for each.

    python peers.py NAME BASE_URL PROMPTS.csv OUT CONCURRENCY

Run by sweep.py inside the environment that peers.sh made for NAME; nothing here imports abjudge. Each function does
what its tool's own documentation does first, told to keep CONCURRENCY calls in flight. Where a tool has no producers,
the responses are asked for by AsyncOpenAI in the same process.
"""

import asyncio
import csv
import json
import os
import sys
from pathlib import Path

PRODUCER, JUDGE = "gpt-4o-mini", "gpt-4o"
SCAFFOLD = "Think about what could go wrong before you answer."
RUBRIC = "The response can be acted upon: it names steps, tools and limits."


class Task:
    """What was asked for on the command line."""

    def __init__(self, base, prompts, out, concurrency):
        self.base, self.out, self.concurrency = base, Path(out), int(concurrency)
        with Path(prompts).open(encoding="utf-8", newline="") as file:
            self.prompts = [row["prompt"] for row in csv.DictReader(file)]

    def arms(self, prompt):
        return prompt, f"{SCAFFOLD}\n\n{prompt}"

    async def all(self, complete, judge):
        """Workers that take prompt after prompt: both responses at once, then the verdict, a line for each."""
        calls, left = asyncio.Semaphore(self.concurrency), iter(self.prompts)

        async def bounded(call):
            async with calls:
                return await call

        async def work(file):
            for prompt in left:
                first, second = await asyncio.gather(*(bounded(complete(text)) for text in self.arms(prompt)))
                verdict = await bounded(judge(prompt, first, second))
                file.write(json.dumps([prompt, first, second, verdict]) + "\n")

        with (self.out / "results.jsonl").open("w", encoding="utf-8") as file:
            await asyncio.gather(*(work(file) for _ in range(self.concurrency)))


def judge_text(prompt, first, second):
    return f"{RUBRIC} Which is better?\n\nREQUEST\n{prompt}\n\nRESPONSE A\n{first}\n\nRESPONSE B\n{second}"


def user(text):
    return [{"role": "user", "content": text}]


async def bare_aiohttp(task):
    import aiohttp

    connector = aiohttp.TCPConnector(limit=task.concurrency)
    async with aiohttp.ClientSession(connector=connector, headers={"Authorization": "Bearer none"}) as session:

        async def complete(text, model=PRODUCER):
            asked = {"model": model, "messages": user(text)}
            async with session.post(f"{task.base}/chat/completions", json=asked) as reply:
                return (await reply.json())["choices"][0]["message"]["content"]

        async def judge(prompt, first, second):
            return json.loads(await complete(judge_text(prompt, first, second), JUDGE))["verdict"]

        await task.all(complete, judge)


def openai_client(task):
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=task.base, api_key="none")


def openai_complete(client):
    async def complete(text, model=PRODUCER):
        reply = await client.chat.completions.create(model=model, messages=user(text))
        return reply.choices[0].message.content

    return complete


async def bare_openai(task):
    complete = openai_complete(openai_client(task))

    async def judge(prompt, first, second):
        return json.loads(await complete(judge_text(prompt, first, second), JUDGE))["verdict"]

    await task.all(complete, judge)


async def bare_litellm(task):
    import litellm

    async def complete(text, model=PRODUCER):
        asked = {"model": f"openai/{model}", "messages": user(text)}
        reply = await litellm.acompletion(**asked, api_base=task.base, api_key="none")
        return reply.choices[0].message.content

    async def judge(prompt, first, second):
        return json.loads(await complete(judge_text(prompt, first, second), JUDGE))["verdict"]

    await task.all(complete, judge)


async def autoevals(task):
    from autoevals import init
    from autoevals.llm import Battle

    client = openai_client(task)
    init(client=client)
    battle = Battle(model=JUDGE)

    async def judge(prompt, first, second):
        return (await battle.eval_async(instructions=prompt, output=first, expected=second)).score

    await task.all(openai_complete(client), judge)


async def openevals(task):
    from openevals.llm import create_async_llm_as_judge

    client = openai_client(task)
    words = RUBRIC + " Is A better than B?\n<request>{inputs}</request>\n<a>{outputs}</a>\n<b>{reference_outputs}</b>"
    evaluate = create_async_llm_as_judge(prompt=words, judge=client, model=JUDGE)

    async def judge(prompt, first, second):
        return (await evaluate(inputs=prompt, outputs=first, reference_outputs=second))["score"]

    await task.all(openai_complete(client), judge)


async def pydantic_evals(task):
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    complete = openai_complete(openai_client(task))
    model = OpenAIChatModel(JUDGE, provider=OpenAIProvider(base_url=task.base, api_key="none"))

    async def both(prompt):
        first, second = await asyncio.gather(*(complete(text) for text in task.arms(prompt)))
        return f"RESPONSE A\n{first}\n\nRESPONSE B\n{second}"

    cases = [Case(name=str(n), inputs=prompt) for n, prompt in enumerate(task.prompts)]
    judge = LLMJudge(rubric=RUBRIC, model=model, include_input=True)
    dataset = Dataset(name="sweep", cases=cases, evaluators=[judge])
    report = await dataset.evaluate(both, max_concurrency=task.concurrency, progress=False)
    passed = [case.assertions["LLMJudge"].value for case in report.cases]
    (task.out / "results.jsonl").write_text("\n".join(map(json.dumps, passed)) + "\n", "utf-8")


def inspect(task):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import solver

    limits = GenerateConfig(max_connections=task.concurrency)
    judge = get_model(f"openai/{JUDGE}", base_url=task.base, api_key="none", config=limits)
    producer = get_model(f"openai/{PRODUCER}", base_url=task.base, api_key="none", config=limits)

    @solver
    def both():
        async def solve(state, generate):
            answers = await asyncio.gather(*(producer.generate(text) for text in task.arms(state.input_text)))
            first, second = (answer.completion for answer in answers)
            state.output = answers[0]
            state.output.completion = f"RESPONSE A\n{first}\n\nRESPONSE B\n{second}"
            return state

        return solve

    samples = [Sample(input=prompt, target=RUBRIC) for prompt in task.prompts]
    work = Task(dataset=samples, solver=both(), scorer=model_graded_qa(model=judge))
    (log,) = eval(work, model=producer, max_samples=task.concurrency, log_dir=str(task.out), display="none")
    if log.status != "success":
        raise SystemExit(str(log.error))


def deepeval(task):
    """Its arena compares what is there, so all the responses come first."""
    from deepeval.metrics.arena_g_eval import utils
    from deepeval.models import GPTModel

    # Contestants are given random names; two that the server knows.
    utils.FAKE_NAMES[:] = ["Alice", "Bob"]
    answers = {}

    async def produce():
        complete, calls = openai_complete(openai_client(task)), asyncio.Semaphore(task.concurrency)

        async def bounded(text):
            async with calls:
                return await complete(text)

        async def pair(prompt):
            answers[prompt] = await asyncio.gather(*(bounded(text) for text in task.arms(prompt)))

        await asyncio.gather(*(pair(prompt) for prompt in task.prompts))

    asyncio.run(produce())
    deepeval_compare(task, answers, GPTModel(model=JUDGE, base_url=task.base, api_key="none"))


def deepeval_compare(task, answers, model):
    from deepeval import compare
    from deepeval.evaluate.configs import AsyncConfig
    from deepeval.metrics import ArenaGEval
    from deepeval.test_case import ArenaTestCase, Contestant, LLMTestCase, SingleTurnParams

    def case(prompt):
        named = zip(("baseline", "scaffolded"), answers[prompt], strict=True)
        tests = [(name, LLMTestCase(input=prompt, actual_output=answer)) for name, answer in named]
        return ArenaTestCase(contestants=[Contestant(name=name, test_case=test) for name, test in tests])

    metric = ArenaGEval(
        name="Acting",
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        evaluation_steps=[RUBRIC],
        model=model,
    )
    limits = AsyncConfig(max_concurrent=task.concurrency)
    wins = compare([case(prompt) for prompt in task.prompts], metric, async_config=limits)
    (task.out / "results.jsonl").write_text(json.dumps(dict(wins)) + "\n", "utf-8")


def promptfoo(task):
    """Replaces this process by promptfoo's own command."""

    def provider(model, **more):
        return {"id": f"openai:chat:{model}", "config": {"apiBaseUrl": task.base, "apiKey": "none"}, **more}

    config = {
        "prompts": [
            {"raw": "{{prompt}}", "label": "bare"},
            {"raw": SCAFFOLD + "\n\n{{prompt}}", "label": "scaffolded"},
        ],
        "providers": [provider(PRODUCER)],
        "defaultTest": {
            "options": {"provider": provider(JUDGE)},
            "assert": [{"type": "llm-rubric", "value": RUBRIC}],
        },
        "tests": [{"vars": {"prompt": prompt}} for prompt in task.prompts],
    }
    (task.out / "config.json").write_text(json.dumps(config), "utf-8")
    modules = Path(os.environ["PEER"]) / "node_modules"
    node = next(modules.glob("node-*/bin/node"))
    package = json.loads((modules / "promptfoo/package.json").read_text("utf-8"))
    script = modules / "promptfoo" / package["bin"]["promptfoo"]
    flags = ["--no-cache", "--no-table", "--no-progress-bar", "-j", str(task.concurrency)]
    where = ["-c", str(task.out / "config.json"), "-o", str(task.out / "results.json")]
    os.execv(node, [str(node), str(script), "eval", *flags, *where])


TOOLS = {
    "aiohttp": bare_aiohttp,
    "openai": bare_openai,
    "litellm": bare_litellm,
    "autoevals": autoevals,
    "openevals": openevals,
    "pydantic-evals": pydantic_evals,
    "inspect": inspect,
    "deepeval": deepeval,
    "promptfoo": promptfoo,
}


def main():
    name, *rest = sys.argv[1:]
    work = TOOLS[name](Task(*rest))
    if asyncio.iscoroutine(work):
        asyncio.run(work)


if __name__ == "__main__":
    main()
