"""Writes the kit's types from the hub's description of itself; `write_types.py --check` says whether they are what it gives."""

import json
import keyword
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
DESCRIPTION = ROOT / "docs" / "openapi.json"
TYPES = ROOT / "sdk" / "python" / "src" / "folkmoot_agent" / "api.py"
HEAD = '''"""Generated from `docs/openapi.json` by `make openapi`: change the hub, not this file."""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
Schema = dict[str, Any]


def class_name(name: str) -> str:
    """A name that Python takes for a class; `i64` becomes `I64`."""
    return name[:1].upper() + name[1:].replace(".", "_").replace("-", "_")


def kind(schema: Schema | bool) -> str:
    """How Python says what a schema says; what it cannot say is `Any`."""
    if not isinstance(schema, dict):
        return "Any"
    if "$ref" in schema:
        return class_name(schema["$ref"].rsplit("/", 1)[1])
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema['enum'])}]"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return union([kind(one) for one in schema[several]])
    types = schema.get("type")
    if isinstance(types, list):
        return union([kind({**schema, "type": one}) if one != "null" else "None" for one in types])
    if types == "array":
        return f"list[{kind(schema.get('items', {}))}]"
    if types == "object":
        return f"dict[str, {kind(schema['additionalProperties'])}]" if schema.get("additionalProperties") else "dict[str, Any]"
    return PLAIN.get(str(types), "Any")


def union(kinds: list[str]) -> str:
    return "Any" if "Any" in kinds else " | ".join(dict.fromkeys(kinds))


def parts(schema: Schema, schemas: dict[str, Schema]) -> tuple[dict[str, Any], set[str]]:
    """The fields of an object, those of all its parts together, and which of them are always there."""
    fields, always = dict(schema.get("properties", {})), set(schema.get("required", []))
    for part in schema.get("allOf", []):
        part = schemas[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
        more, needed = parts(part, schemas)
        fields.update(more)
        always |= needed
    return fields, always


def definition(name: str, schema: Schema, schemas: dict[str, Schema]) -> str:
    fields, always = parts(schema, schemas)
    if not fields:
        shape = kind(schema) if "allOf" not in schema else "dict[str, Any]"
        return f'{class_name(name)}: TypeAlias = "{shape}"'
    kinds = {field: kind(inner) for field, inner in sorted(fields.items())}
    shown = {field: of if field in always else f"NotRequired[{of}]" for field, of in kinds.items()}
    if any(keyword.iskeyword(field) or not field.isidentifier() for field in fields):
        inside = ", ".join(f'"{field}": "{of}"' for field, of in shown.items())
        return f'{class_name(name)} = TypedDict("{class_name(name)}", {{{inside}}})'
    return "\n".join([f"class {class_name(name)}(TypedDict):", *(f"    {field}: {of}" for field, of in shown.items())])


def generated() -> str:
    schemas: dict[str, Schema] = json.loads(DESCRIPTION.read_text())["components"]["schemas"]
    return "\n\n".join([HEAD, *(definition(name, schemas[name], schemas) + "\n" for name in sorted(schemas))])


def main() -> int:
    text = generated()
    if "--check" not in sys.argv:
        TYPES.write_text(text)
    elif TYPES.read_text() != text:
        print("sdk/python/src/folkmoot_agent/api.py is not what docs/openapi.json gives", file=sys.stderr)
        print("hint: run `make openapi` and commit both files", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
