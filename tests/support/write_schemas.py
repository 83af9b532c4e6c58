"""Write the published JSON Schemas again from the code that they describe."""

import json
from pathlib import Path

from abjudge.domain.verdicts import verdict_schema
from abjudge.reports.documents import compare_schema

FOLDER = Path(__file__).parents[2] / "abjudge" / "schemas"

if __name__ == "__main__":
    for name, schema in (("verdict", verdict_schema()), ("compare", compare_schema())):
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        (FOLDER / f"{name}.schema.json").write_text(f"{text}\n", "utf-8")
