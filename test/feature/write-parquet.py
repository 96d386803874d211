"""Writes Parquet files with pyarrow as told by lines of JSON on standard input; answers each with a line.

A line is {"path", "options", "columns": [{"name", "type", "shape", "values"}]}. A type is a Python expression; a value is what the
cell physically is (whole numbers, hexadecimal bytes, text), null, or a list of such, as the shape says.
"""

import decimal
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

decimal.getcontext().prec = 100


def scalar(kind, value):
    if value is None:
        return None
    if pa.types.is_decimal(kind):
        return decimal.Decimal(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return bytes.fromhex(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_integer(kind):
        return int(value)
    return value


def flat(kind, values):
    """Dates and times from their counts, which Python's own types could not hold."""
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, flat(kind.storage_type, values))
    if pa.types.is_dictionary(kind):
        return flat(kind.value_type, values).dictionary_encode()
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array([None if v is None else int(v) for v in values], width).view(kind)
    return pa.array([scalar(kind, v) for v in values], kind)


def shaped(kind, shape, values):
    """`shape` is a list of words, the outermost first; the members of all values are laid out as one flat array."""
    if not shape:
        return flat(kind, values)
    word, inner = shape[0], shape[1:]
    mask = pa.array([v is None for v in values], pa.bool_())
    if word == "row":
        # Two fields whose names differ only in case.
        members = [shaped(kind, inner, [None if v is None else v[i] for v in values]) for i in (0, 1)]
        return pa.StructArray.from_arrays(members, names=["a", "A"], mask=mask)
    lengths = [0 if v is None else len(v) for v in values]
    offsets = [sum(lengths[:i]) for i in range(len(values) + 1)]
    members = shaped(kind, inner, [m for v in values if v is not None for m in v])
    starts = pa.array([None if v is None else o for v, o in zip(values + [0], offsets)], pa.int32())
    if word == "list":
        return pa.ListArray.from_arrays(starts, members)
    keys = pa.array([f"k{i}" for n in lengths for i in range(n)], pa.string())
    return pa.MapArray.from_arrays(starts, keys, members)


for line in sys.stdin:
    told = json.loads(line)
    columns = told["columns"]
    arrays = [shaped(eval(c["type"]), c["shape"], c["values"]) for c in columns]  # our own test's text
    table = pa.Table.from_arrays(arrays, names=[c["name"] for c in columns])
    pq.write_table(table, told["path"], **told["options"])
    print("written", flush=True)
