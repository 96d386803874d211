"""Reads the table with one Python client in one way: read.py ATTEMPT. The service and its key are in QRS and KEY. Prints one JSON document."""
import csv
import importlib
import io
import json
import os
import platform
import sys
import tempfile
import urllib.request

from cells import cell, rows_of

BASE, KEY = os.environ["QRS"], os.environ["KEY"]
HEADERS = {"X-Service-Api-Key": KEY}
TABLE = BASE + "/v1/query/1/results"
WITH_KEY = "api_key=" + KEY
NAMES = os.environ["COLUMNS"].split(",")


def opened(url, headers=HEADERS):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers))


def read(url):
    with opened(url) as response:
        return response.read()


def csv_rows(text):
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert lines[0] == NAMES, lines[0]
    return lines[1:]


def table_rows(table):
    return rows_of(table.to_pylist(), NAMES)


def frame_rows(frame):
    return [[cell(value) for value in row] for row in frame[NAMES].itertuples(index=False, name=None)]


def urllib_csv():
    return csv_rows(read(TABLE + "/csv").decode())


def urllib_json():
    return rows_of(json.loads(read(TABLE))["result"]["rows"], NAMES)


def requests_pages():
    import requests
    session, url, rows = requests.Session(), TABLE + "?limit=4", []
    session.headers.update(HEADERS)
    while url:
        page = session.get(url)
        page.raise_for_status()
        document = page.json()
        rows += document["result"]["rows"]
        url = document.get("next_uri")
    return rows_of(rows, NAMES)


def requests_ndjson():
    import requests
    with requests.get(TABLE, params={"format": "ndjson"}, headers=HEADERS, stream=True) as response:
        response.raise_for_status()
        return rows_of([json.loads(line) for line in response.iter_lines()], NAMES)


def httpx_ndjson():
    import httpx
    accept = {**HEADERS, "Accept": "application/x-ndjson", "Accept-Encoding": "zstd, gzip"}
    with httpx.Client(headers=accept).stream("GET", TABLE) as response:
        response.raise_for_status()
        return rows_of([json.loads(line) for line in response.iter_lines()], NAMES)


def pandas_csv():
    import pandas
    return frame_rows(pandas.read_csv(TABLE + "/csv", dtype=str, keep_default_na=False, storage_options=HEADERS))


def pandas_json():
    import pandas
    lines = io.BytesIO(read(TABLE + "?format=ndjson"))
    return frame_rows(pandas.read_json(lines, lines=True, engine="pyarrow", dtype_backend="pyarrow"))


def pandas_parquet():
    import pandas
    frame = pandas.read_parquet(TABLE + "?format=parquet", storage_options=HEADERS, dtype_backend="pyarrow")
    return frame_rows(frame)


def polars_csv():
    import polars
    frame = polars.read_csv(read(TABLE + "/csv"), infer_schema=False)
    return [[cell(value) for value in row] for row in frame.select(NAMES).iter_rows()]


def polars_ndjson():
    import polars
    frame = polars.read_ndjson(io.BytesIO(read(TABLE + "?format=ndjson")), infer_schema_length=None)
    return [[cell(value) for value in row] for row in frame.select(NAMES).iter_rows()]


def polars_parquet():
    import polars
    frame = polars.read_parquet(TABLE + "?format=parquet&" + WITH_KEY, use_pyarrow=False)
    return [[cell(value) for value in row] for row in frame.select(NAMES).iter_rows()]


def polars_scan():
    import polars
    source = TABLE + "?format=parquet&" + WITH_KEY
    frame = polars.scan_parquet(source, storage_options={"allow_http": "true"}).collect()
    return [[cell(value) for value in row] for row in frame.select(NAMES).iter_rows()]


def pyarrow_parquet():
    import pyarrow.parquet
    return table_rows(pyarrow.parquet.read_table(io.BytesIO(read(TABLE + "?format=parquet"))))


def pyarrow_csv():
    import pyarrow
    import pyarrow.csv
    options = pyarrow.csv.ConvertOptions(
        column_types={name: pyarrow.string() for name in NAMES}, strings_can_be_null=True, quoted_strings_can_be_null=False,
        null_values=[""])
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    with opened(TABLE + "/csv") as response:
        return table_rows(pyarrow.csv.read_csv(io.BytesIO(response.read()), parse_options=parse, convert_options=options))


def pyarrow_ranges():
    """Parquet from its footer on, by ranges of bytes, as a data lake's readers do."""
    import pyarrow.parquet
    import fsspec
    file = fsspec.filesystem("http", client_kwargs={"headers": HEADERS}).open(TABLE + "?format=parquet", block_size=1024)
    return table_rows(pyarrow.parquet.ParquetFile(file).read())


def fsspec_csv():
    import fsspec
    with fsspec.open(TABLE + "/csv", "rt", encoding="utf-8", newline="", client_kwargs={"headers": HEADERS}) as file:
        return csv_rows(file.read())


def duckdb_file(suffix, url, reader):
    import duckdb
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(read(url))
        file.flush()
        columns = duckdb.sql("FROM " + reader.format(file.name)).columns
        rows = duckdb.sql("SELECT * REPLACE ('0x' || lower(hex(hash)) AS hash) FROM " + reader.format(file.name)
                          if suffix == ".parquet" else "FROM " + reader.format(file.name)).fetchall()
    return rows_of([dict(zip(columns, row)) for row in rows], NAMES)


def duckdb_parquet():
    return duckdb_file(".parquet", TABLE + "?format=parquet", "read_parquet('{}')")


def duckdb_csv():
    return duckdb_file(".csv", TABLE + "/csv", "read_csv('{}', all_varchar = true, nullstr = '')")


def duckdb_ranges():
    """By way of fsspec, since DuckDB's own reader of addresses is an extension that is fetched from elsewhere."""
    import datetime
    import duckdb
    from fsspec.implementations.http import HTTPFileSystem

    class Http(HTTPFileSystem):
        def modified(self, path):
            return datetime.datetime(1970, 1, 1)

    connection = duckdb.connect()
    connection.sql("SET TimeZone = 'UTC'")
    connection.register_filesystem(Http(client_kwargs={"headers": HEADERS}))
    rows = connection.sql("FROM read_parquet('" + TABLE + "?format=parquet')")
    return rows_of([dict(zip(rows.columns, row)) for row in rows.fetchall()], NAMES)


def main():
    attempt = sys.argv[1]
    package = attempt.split("_")[0]
    version = platform.python_version() if package == "urllib" else importlib.import_module(package).__version__
    json.dump({"version": version, "rows": globals()[attempt]()}, sys.stdout)


main()
