"""Comparisons in one asyncio loop of this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class LocalEngine:
    """As many tasks as cases may be under way; each takes the next case when it is done with one."""

    async def run(
        self, cases: Iterable[Item], work: Callable[[Item], Awaitable[Result]], *, at_once: int
    ) -> AsyncIterator[Result]:
        """The results as they come. The first fault is raised once the cases under way have ended."""
        source = iter(cases)
        done: asyncio.Queue[Result | None] = asyncio.Queue(maxsize=4 * at_once)
        faults: list[BaseException] = []

        async def worker() -> None:
            try:
                for case in source:
                    if faults:
                        break
                    await done.put(await work(case))
            except Exception as error:
                faults.append(error)
            finally:
                await done.put(None)

        workers = [asyncio.create_task(worker()) for _ in range(at_once)]
        try:
            left = len(workers)
            while left:
                result = await done.get()
                if result is None:
                    left -= 1
                else:
                    yield result
            if faults:
                raise faults[0]
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
