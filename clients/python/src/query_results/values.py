"""Converts values to Python's by the type of their column: integers to ``int``, decimals to ``Decimal``, doubles to ``float``, with every
digit. Times, bytes (``0x…``) and JSON stay text."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Callable, Dict, List, Optional, Tuple

Read = Callable[[Any], Any]

_SIMPLE: Dict[str, Read] = {name: int for name in ("hugeint", "uint256", "int256")}
# NaN and the infinities arrive as text.
_SIMPLE.update({"double": float, "real": float})


def reader_of(type_name: str) -> Optional[Read]:
    """:param type_name: as ``column_types`` has it: ``array(uint256)``
    :returns: None where a value is what JSON has"""
    read = _read_of(type_name)
    return read and (lambda value: None if value is None else read(value))


def _read_of(type_name: str) -> Optional[Read]:
    if type_name.startswith("decimal("):
        return Decimal
    found = re.fullmatch(r"(array|map|row)\((.*)\)", type_name, re.DOTALL)
    if found is None:
        return _SIMPLE.get(type_name)
    kind, inner = found.groups()
    if kind == "array":
        item = reader_of(inner)
        return item and (lambda values: [item(value) for value in values])
    members = _split(inner)
    if kind == "map":
        value_of = reader_of(members[1])
        return value_of and (lambda values: {name: value_of(value) for name, value in values.items()})
    fields = {name: read for name, read in ((name, reader_of(field)) for name, field in map(_field, members)) if read}
    return (lambda row: {name: fields[name](value) if name in fields else value for name, value in row.items()}) if fields else None


def _field(member: str) -> Tuple[str, str]:
    """``a bigint``, or ``"a b" bigint``."""
    found = re.fullmatch(r'(?:"((?:[^"]|"")*)"|(\S+)) (.*)', member, re.DOTALL)
    if found is None:
        return member, ""
    quoted, bare, type_name = found.groups()
    return (bare if quoted is None else quoted.replace('""', '"')), type_name


def _split(text: str) -> List[str]:
    """At the commas outside of parentheses and quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, mark in enumerate(text):
        if mark == '"':
            quoted = not quoted
        if quoted:
            continue
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
