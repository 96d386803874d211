"""The client against a real service, at QRS_TEST_URL with the key QRS_TEST_KEY. What is published there is said in python-client.test.ts."""

import os
import tempfile
import unittest
from decimal import Decimal

from query_results import QueryResults, RunFailed, ServiceError
from query_results.frames import needed, shown_by
from query_results.errors import QueryResultsError

URL = os.environ.get("QRS_TEST_URL")
HUGE = 2**256 - 1


def is_there(*names: str) -> bool:
    try:
        for name in names:
            needed(name, "a test")
    except QueryResultsError:
        return False
    return True


class OldDtype:
    """As pandas before version 3: a type of an extension of Arrow has no Python type."""

    def __init__(self, arrow_type: object) -> None:
        self._is_known = not str(arrow_type).startswith("extension<")

    @property
    def type(self) -> type:
        if not self._is_known:
            raise NotImplementedError
        return str


class NewDtype(OldDtype):
    """As pandas from version 3 on."""

    type = str  # type: ignore[assignment]


@unittest.skipUnless(is_there("pyarrow"), "pyarrow is not installed")
class OldPandas(unittest.TestCase):
    def test_uuids_and_json_are_text_where_pandas_cannot_show_their_types(self) -> None:
        arrow = needed("pyarrow", "a test")
        wire = {"id": arrow.array([bytes(range(16)), None], arrow.uuid()), "any": arrow.array(['{"a":1}', None], arrow.json_())}
        table = arrow.table({"n": [1, 2], **wire})
        shown = shown_by(OldDtype, table)
        self.assertEqual([str(field.type) for field in shown.schema], ["int64", "string", "string"])
        first = {"n": 1, "id": "00010203-0405-0607-0809-0a0b0c0d0e0f", "any": '{"a":1}'}
        self.assertEqual(shown.to_pylist(), [first, {"n": 2, "id": None, "any": None}])
        self.assertIs(shown_by(NewDtype, table), table)


@unittest.skipIf(URL is None, "no service: run by python-client.test.ts")
class RealService(unittest.TestCase):
    def setUp(self) -> None:
        self.client = QueryResults(URL or "", os.environ["QRS_TEST_KEY"])

    def test_values_have_the_type_of_their_column_and_every_digit(self) -> None:
        table = self.client.read(query=7)
        self.assertEqual((table.row_count, table.is_partial), (2, False))
        self.assertEqual([column.type for column in table.columns][:4], ["integer", "bigint", "uint256", "decimal(38, 2)"])
        first, second = table.rows
        self.assertEqual(
            first,
            {
                "small": 1,
                "big": 9223372036854775807,
                "huge": HUGE,
                "money": Decimal("123456789012345678901234567890123456.78"),
                "real": 0.1,
                "text": "é",
                "bytes": "0xc0ff",
                "list": [1, 2**255, None],
                "row": {"a, b": 9007199254740993, "c": "1", "d": [{"e": HUGE}]},
                "on": True,
            },
        )
        self.assertNotEqual(second["real"], second["real"])
        self.assertEqual([second["huge"], second["money"], second["list"]], [None, Decimal("0.10"), None])

    def test_rows_come_page_by_page_each_once_and_in_order(self) -> None:
        numbers = lambda **read: [row["n"] for row in self.client.rows(query=8, **read)]
        every = list(range(1234))
        base = [n for n in every if n % 3 == 0]
        self.assertEqual(numbers(), every)
        self.assertEqual(numbers(limit=300, offset=700), every[700:1000])
        self.assertEqual(numbers(filters="chain = 'base'", sort_by="n desc", offset=10), base[::-1][10:])
        self.assertEqual(numbers(filters="n < 0"), [])
        self.assertEqual(numbers(search="99"), [n for n in every if "99" in str(n)])
        self.assertEqual(len(numbers(sample_count=40)), 40)
        self.assertEqual([len(page.rows) for page in self.client.pages(query=8, columns=["n"])], [500, 500, 234])

    def test_the_run_that_was_the_latest_at_an_earlier_time(self) -> None:
        earlier = "2024-03-05T21:00:00Z"
        self.assertEqual(self.client.read(query=11, as_of=earlier).rows, [{"n": 1}])
        self.assertEqual(self.client.read(query=11).rows, [{"n": 2}])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "earlier.csv")
            self.client.download(path, "csv", query=11, as_of=earlier)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "n\n1\n")
        with self.assertRaisesRegex(ServiceError, "no run of query 11 that had ended by 2020-01-01"):
            self.client.read(query=11, as_of="2020-01-01")

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "numbers.csv")
            self.client.download(path, "csv", query=8, columns=["n"])
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "n\n" + "".join(f"{n}\n" for n in range(1234)))

    @unittest.skipUnless(is_there("pyarrow"), "pyarrow is not installed")
    def test_to_arrow(self) -> None:
        table = self.client.to_arrow(query=8, filters="n >= 1000")
        self.assertEqual((table.num_rows, str(table.schema.field("n").type)), (234, "int64"))
        self.assertEqual(table.column("n").to_pylist(), list(range(1000, 1234)))

    @unittest.skipUnless(is_there("pyarrow", "pandas"), "pandas or pyarrow is not installed")
    def test_to_pandas(self) -> None:
        frame = self.client.to_pandas(query=8)
        self.assertEqual((len(frame), str(frame.dtypes["n"])), (1234, "int64[pyarrow]"))
        big = self.client.to_pandas(query=7, columns=["big", "money"])
        self.assertEqual(big["big"].tolist()[0], 9223372036854775807)
        self.assertEqual(big["money"].tolist(), [Decimal("123456789012345678901234567890123456.78"), Decimal("0.10")])

    @unittest.skipUnless(is_there("polars"), "polars is not installed")
    def test_to_polars(self) -> None:
        frame = self.client.to_polars(query=8, sort_by="n desc", limit=2)
        self.assertEqual(frame.to_dicts(), [{"n": 1233, "chain": "base"}, {"n": 1232, "chain": "celo"}])

    def test_what_the_service_refuses_is_an_error_with_its_text_status_and_code(self) -> None:
        with self.assertRaises(ServiceError) as raised:
            self.client.read(query=8, filters="nn = 1")
        self.assertEqual((raised.exception.status, raised.exception.code), (400, "filter_column"))
        with self.assertRaisesRegex(ServiceError, "^invalid API Key$"):
            QueryResults(URL or "", "wrong").read(query=8)

    def test_run_query_executes_waits_and_reads(self) -> None:
        table = self.client.run_query(9, {"factor": 10**20}, filters="id > 1")
        self.assertEqual(table.rows, [{"id": 2, "cost": 7 * 10**20}])
        with self.assertRaisesRegex(RunFailed, "no such luck") as raised:
            self.client.run_query(10)
        self.assertEqual(raised.exception.state, "QUERY_STATE_FAILED")
        with self.assertRaisesRegex(ServiceError, r"unknown parameters \(nofactor\)"):
            self.client.run_query(9, {"nofactor": 1})


if __name__ == "__main__":
    unittest.main()
