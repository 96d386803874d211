"""The spelling of cells that scripts/clients/table.ts compares: text, or None."""
import datetime
import decimal
import json
import math


def cell(value):
    """Of a value as a library gives it, exactly; a float keeps what it lost."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray)):
        return "0x" + value.hex()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(" ", timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (list, tuple)) or hasattr(value, "tolist") or hasattr(value, "to_list"):
        items = value.tolist() if hasattr(value, "tolist") else value.to_list() if hasattr(value, "to_list") else value
        return json.dumps(list(items), ensure_ascii=False, separators=(",", ":"))
    return str(value)


def rows_of(records, names):
    return [[cell(record.get(name)) for name in names] for record in records]
