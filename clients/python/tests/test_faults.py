"""The client when services and networks are as bad as they get: what is asked again, and what must not pass for an answer."""

import errno
import io
import json
import os
import re
import tempfile
import unittest
from typing import Any, Dict, List
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from answers import Broken, Refusal, Service, Whole
from query_results import IncompleteResult, QueryResults, QueryResultsError, RunFailed, ServiceError
from query_results.frames import needed
from query_results.target import Read, parameter_text


def page(rows: List[int], total: int, metadata: Dict[str, Any] = {}, **more: Any) -> Dict[str, Any]:
    known = {"column_names": ["n"], "column_types": ["integer"], "row_count": len(rows), "total_row_count": total}
    result = {"rows": [{"n": n} for n in rows], "metadata": {**known, **metadata}}
    return {"execution_id": "A", "state": "QUERY_STATE_COMPLETED", "result": result, **more}


NEXT = "BASE/v1/execution/A/results?offset=2"
NEXT_2 = {"next_uri": NEXT, "next_offset": 2}


class Walks(unittest.TestCase):
    def test_a_walk_whose_rows_are_not_those_that_were_promised_is_an_error(self) -> None:
        wrong = {
            "ends too early": [page([1, 2], 3)],
            "ends too early, after a page": [page([1, 2], 4, **NEXT_2), page([3], 4)],
            "has more than there are": [page([1, 2, 3], 2)],
            "has a page after the last": [page([1, 2], 2, **NEXT_2)],
            "leaves a gap": [page([1, 2], 9, next_uri=NEXT, next_offset=3)],
            "repeats rows": [page([1, 2], 9, next_uri=NEXT, next_offset=1)],
            "has an empty page in the middle": [page([], 9, next_uri=NEXT, next_offset=0)],
            "has fewer rows than it says": [page([1, 2], 2, {"row_count": 3})],
            "goes on with another run": [page([1, 2], 3, **NEXT_2), {**page([3], 3), "execution_id": "B"}],
            "is no answer of this service": [{"hello": "world"}],
        }
        for what, answers in wrong.items():
            with self.subTest(what), Service(answers) as service, self.assertRaises(IncompleteResult):
                QueryResults(service.url, "k").read(query=7)
        with Service([page([5], 90, {"filtered_row_count": 2})]) as service:
            with self.assertRaisesRegex(IncompleteResult, "^1 rows have come of A, of 2 that the service said there are$"):
                QueryResults(service.url, "k").read(query=7, filters="n = 5")

    def test_a_result_that_is_not_as_the_service_gives_one_is_told_as_that_and_no_value_of_it_is_taken(self) -> None:
        good = page([1], 1)["result"]

        def with_metadata(**more: Any) -> Dict[str, Any]:
            return {**good, "metadata": {**good["metadata"], **more}}

        wrong = {
            "nothing": None,
            "a text": "no luck",
            "a list": [],
            "no metadata": {"rows": []},
            "no rows": {"metadata": good["metadata"]},
            "rows that are none": {**good, "rows": [1]},
            "no names": with_metadata(column_names=None),
            "names that are none": with_metadata(column_names=[7]),
            "types of other columns": with_metadata(column_types=[]),
            "no number of rows": with_metadata(row_count=None),
            "no number of all rows": with_metadata(total_row_count=None),
            "a text for a number": with_metadata(total_row_count="1"),
        }
        told = "^the result of A is not as this service gives one: check the address$"
        for what, result in wrong.items():
            with self.subTest(what), Service([page([1], 1, result=result)]) as service:
                with self.assertRaisesRegex(IncompleteResult, told):
                    QueryResults(service.url, "k").read(query=7)
        for type_name, row in (("uint256", {"n": "seven"}), ("bigint", {}), ("double", {}), ("decimal(3, 1)", {"n": "x"}), ("array(uint256)", {"n": 1})):
            result = {**with_metadata(column_types=[type_name]), "rows": [row]}
            with self.subTest(type_name), Service([page([1], 1, result=result)]) as service:
                with self.assertRaisesRegex(IncompleteResult, f'^a row of A has no {re.escape(type_name)} in "n"$'):
                    QueryResults(service.url, "k").read(query=7)
        with Service([page([1, 2], 3, next_uri=7, next_offset=2)]) as service:
            with self.assertRaisesRegex(IncompleteResult, "^2 rows have come of A, of 3"):
                QueryResults(service.url, "k").read(query=7)
        with Service([{"execution_id": "A", "state": "QUERY_STATE_FAILED", "error": "no luck"}]) as service:
            with self.assertRaisesRegex(RunFailed, "^the run A has no result: QUERY_STATE_FAILED$"):
                QueryResults(service.url, "k").read(query=7)

    def test_a_walk_whose_rows_are_those_that_were_promised_passes(self) -> None:
        answers = [page([1, 2], 3, **NEXT_2), page([3], 3), page([4], 99, {"filtered_row_count": 1})]
        with Service(answers) as service:
            client = QueryResults(service.url + "/", "k")
            self.assertEqual(client.read(query=7).rows, [{"n": 1}, {"n": 2}, {"n": 3}])
            self.assertEqual(list(client.rows(query=7, filters="n = 4")), [{"n": 4}])
            self.assertEqual(
                [asked.path for asked in service.asked],
                [
                    "/v1/query/7/results?format=json",
                    "/v1/execution/A/results?offset=2",
                    "/v1/query/7/results?filters=n+%3D+4&format=json&count=exact",
                ],
            )
            self.assertEqual({asked.headers["X-Service-Api-Key"] for asked in service.asked}, {"k"})

    def test_a_limit_is_of_all_pages_together(self) -> None:
        with Service([page([1, 2], 9, **NEXT_2), page([3, 4], 9, next_uri=NEXT, next_offset=4)]) as service:
            table = QueryResults(service.url, "k").read(query=7, limit=3)
            self.assertEqual((table.rows, table.row_count), ([{"n": 1}, {"n": 2}, {"n": 3}], 3))

    def test_the_key_is_not_shown_without_tls_to_where_a_page_leads(self) -> None:
        transport = QueryResults("https://results.example.com", "k")._transport
        with self.assertRaisesRegex(ServiceError, "without TLS"):
            transport.get("http://results.example.com/v1/x")


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self.pauses: List[float] = []

    def client(self, service: Service, retries: int = 5) -> QueryResults:
        return QueryResults(service.url, "k", retries=retries, sleep=self.pauses.append)

    def test_what_may_pass_is_asked_again_after_growing_pauses_or_as_retry_after_says(self) -> None:
        answers = [
            Refusal(502),
            Refusal(429, {"Retry-After": "7 \t "}),
            Broken('{"execution_id":'),
            Refusal(503, {"Retry-After": "0"}),
            Refusal(504),
            page([1], 1),
        ]
        with Service(answers) as service:
            self.assertEqual(self.client(service).read(query=7).rows, [{"n": 1}])
        self.assertEqual(self.pauses, [0.5, 7.0, 2.0, 0.0, 8.0])

    def test_json_that_a_proxy_ended_early_as_if_it_were_whole_is_asked_for_again_and_told_as_that(self) -> None:
        short = Whole(json.dumps(page([1], 1))[:60], "application/json")
        with Service([short, page([1], 1), short]) as service:
            self.assertEqual(self.client(service).read(query=7).rows, [{"n": 1}])
            self.assertEqual(self.pauses, [0.5])
            with self.assertRaisesRegex(ServiceError, "^/v1/query/7/results: no whole answer came: the JSON breaks off: "):
                self.client(service, 0).read(query=7)

    def test_an_answer_about_a_run_without_what_each_of_them_has_is_told_and_not_waited_on(self) -> None:
        told = "^the answer is not one of this service: check the address$"
        for answer in ({}, {"execution_id": 7, "state": "QUERY_STATE_PENDING"}, {"execution_id": "A"}):
            with self.subTest(answer), Service([answer]) as service, self.assertRaisesRegex(ServiceError, told):
                self.client(service).finished("A")
        waits = {"execution_id": "A", "state": "QUERY_STATE_EXECUTING"}
        for more in ({"progress": None}, {"progress": 50}, {"error": "no luck"}):
            with self.subTest(more), Service([{**waits, **more}]) as service, self.assertRaisesRegex(ServiceError, told):
                self.client(service).status("A")
        with Service([{"ok": True}]) as service, self.assertRaisesRegex(ServiceError, told):
            self.client(service).execute(7)

    def test_what_cannot_pass_is_not_asked_again(self) -> None:
        for status in (400, 401, 403, 404, 409, 500):
            with self.subTest(status), Service([Refusal(status, {"X-Error-Code": "x"})]) as service:
                with self.assertRaises(ServiceError) as raised:
                    self.client(service).read(query=7)
                error = raised.exception
                self.assertEqual((error.status, error.code, str(error)), (status, "x", f"status {status}"))
        self.assertEqual(self.pauses, [])

    def test_what_does_not_pass_within_the_limit_is_told(self) -> None:
        with Service([Refusal(503), Refusal(503)]) as service:
            with self.assertRaisesRegex(ServiceError, "^status 503$"):
                self.client(service, 1).read(query=7)
        with Service([Refusal(503, {"Retry-After": "3600"})]) as service, self.assertRaises(ServiceError):
            self.client(service).read(query=7)
        with Service([]) as service:
            pass
        with self.assertRaisesRegex(ServiceError, "^/v1/query/7/results: no whole answer came: .*refused") as raised:
            self.client(service, 0).read(query=7)
        self.assertIsNone(raised.exception.status)

    def test_a_run_is_asked_for_once_however_often_it_is_sent(self) -> None:
        with Service([Refusal(503), Broken("{"), {"execution_id": "A"}, {"execution_id": "B"}]) as service:
            client = self.client(service)
            self.assertEqual([client.execute(7), client.execute(7)], ["A", "B"])
            keys = [asked.headers["Idempotency-Key"] for asked in service.asked]
        self.assertEqual(keys[1:3], [keys[0], keys[0]])
        self.assertNotEqual(keys[3], keys[0])

    def test_an_answer_that_is_not_of_the_service_is_told_as_that_also_as_a_file_and_asked_for_once(self) -> None:
        told = "^/v1/query/7/results: the answer is {}: is this the address of a service.$"
        types = {"csv": "text/csv", "ndjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
        for answer in (Whole("<html>Log in</html>", "text/html"), Whole(""), Whole("null", "application/json"), Whole("[]")):
            with self.subTest(answer), tempfile.TemporaryDirectory() as folder, Service([answer] * 4) as service:
                client = self.client(service)
                with self.assertRaisesRegex(ServiceError, told.format("no JSON")):
                    client.read(query=7)
                for format, type_name in types.items():
                    with self.assertRaisesRegex(ServiceError, told.format(f"not {type_name}")):
                        client.download(os.path.join(folder, "x"), format, query=7)
                self.assertEqual(os.listdir(folder), [])
        self.assertEqual(self.pauses, [])

    def test_a_redirect_is_not_followed_as_the_key_is_for_nobody_else(self) -> None:
        words = "redirected to BASE/elsewhere, which is not followed: url is where the service itself answers$"
        with Service([]) as other, Service([Refusal(307, {"Location": other.url + "/elsewhere?token=x"})] * 2) as service:
            client = self.client(service)
            with self.assertRaisesRegex(ServiceError, "^/v1/query/7/results: " + words.replace("BASE", other.url)) as raised:
                client.read(query=7)
            self.assertEqual(raised.exception.status, 307)
            with self.assertRaisesRegex(ServiceError, "^/v1/query/7/execute: redirected to "):
                client.execute(7)
            self.assertEqual((other.asked, self.pauses), ([], []))
        with Service([Refusal(302, {"Location": "http://[::1"})]) as service:
            with self.assertRaisesRegex(ServiceError, words.replace("BASE/elsewhere", re.escape("http://[::1"))):
                self.client(service).read(query=7)

    def test_a_refusal_in_words_that_are_not_the_service_s_is_told_by_its_status(self) -> None:
        answers = [Refusal(503, {"Retry-After": "\u00b2"}, [7]), Refusal(503, {"Retry-After": "1.5"}), Refusal(400, {}, {"a": 1})]
        with Service(answers) as service, self.assertRaisesRegex(ServiceError, "^the service answered 400$"):
            self.client(service).read(query=7)
        self.assertEqual(self.pauses, [0.5, 1.0])

    def test_a_run_is_waited_for_less_and_less_often_and_no_longer_than_one_says(self) -> None:
        running = {
            "execution_id": "A",
            "state": "QUERY_STATE_EXECUTING",
            "is_execution_finished": False,
        }
        with Service([running] * 30) as service, self.assertRaisesRegex(RunFailed, "has not ended within 60 s"):
            self.client(service).finished("A", timeout=60)
        self.assertEqual(self.pauses[:3], [0.25, 0.375, 0.5625])
        self.assertEqual(max(self.pauses), 5.0)

    def test_a_download_that_breaks_is_begun_again_and_none_is_left_in_part(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            with Service([Broken("n\n1\n2\n"), Whole("n\n1\n", "text/csv; charset=utf-8")]) as service:
                self.client(service).download(path, "csv", query=7)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "n\n1\n")
            with Service([Broken("n\n")]) as service, self.assertRaises(ServiceError):
                self.client(service, 0).download(os.path.join(folder, "y.csv"), "csv", query=7)
            self.assertEqual(os.listdir(folder), ["x.csv"])

    def test_a_download_that_a_proxy_ended_early_is_told_and_leaves_no_file(self) -> None:
        csv = 'a,"b\nc"\n1,"x ""y""\nz"\n2,\n"",3\n'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x")
            for format, type_name, text, rows in (("csv", "text/csv", csv, 3), ("ndjson", "application/x-ndjson", '{"a":"\\""}\n{"a":1}\n', 2)):
                whole, short = Whole(text, type_name, rows), Whole(text[: text[:-1].rindex("\n") + 1], type_name, rows)
                with self.subTest(format), Service([whole, short]) as service:
                    client = self.client(service)
                    client.download(path, format, query=7)
                    with open(path, encoding="utf-8", newline="") as file:
                        self.assertEqual(file.read(), text)
                    os.remove(path)
                    with self.assertRaisesRegex(IncompleteResult, f"^{rows - 1} rows have come, of {rows} that the service said there are$"):
                        client.download(path, format, query=7)
                    self.assertEqual(os.listdir(folder), [])

    def test_a_download_with_a_length_that_no_answer_has_is_no_whole_one_and_a_length_that_is_said_twice_is_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            for lengths in (["4, 4"], ["4", "4"], [" 4 "], []):
                with self.subTest(lengths), Service([Whole("n\n1\n", "text/csv", 1, lengths)]) as service:
                    self.client(service, 0).download(path, "csv", query=7)
                    with open(path, encoding="utf-8") as file:
                        self.assertEqual(file.read(), "n\n1\n")
                    os.remove(path)
            for length in ("4, 5", "abc", "-4", "4_0", "0x4", "\u00b2", ""):
                told = "^/v1/query/7/results: no whole answer came: its Content-Length is .*$"
                with self.subTest(length), Service([Whole("n\n1\n", "text/csv", 1, [length])]) as service:
                    with self.assertRaisesRegex(ServiceError, told):
                        self.client(service, 0).download(path, "csv", query=7)
                    self.assertEqual(os.listdir(folder), [])
            with Service([Whole("n\n1\n", "text/csv", "1, 1"), Whole("n\n1\n", "text/csv", "one")]) as service:
                self.client(service, 0).download(path, "csv", query=7)
                with self.assertRaisesRegex(ServiceError, "no whole answer came: its X-Service-Row-Count is 'one'$"):
                    self.client(service, 0).download(path, "csv", query=7)

    def test_a_format_that_is_none_is_told_at_once_however_the_service_would_read_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder, Service([]) as service:
            for format in ("CSV", "xlsx", ""):
                told = f"^format is '{format}': expected one of csv, json, ndjson, parquet$"
                with self.subTest(format), self.assertRaisesRegex(ValueError, told):
                    self.client(service).download(os.path.join(folder, "x"), format, query=7)
            self.assertEqual(os.listdir(folder), [])

    def test_two_downloads_to_one_place_do_not_mix(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            with Service([Whole("n\n1\n2\n3\n", "text/csv"), Whole("n\n4\n", "text/csv")]) as service:
                client = self.client(service)
                replace = os.replace

                def meanwhile(part: str, place: str) -> None:
                    with patch("os.replace", replace):
                        client.download(path, "csv", query=8)
                    replace(part, place)

                with patch("os.replace", meanwhile):
                    client.download(path, "csv", query=7)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "n\n1\n2\n3\n")
            self.assertEqual(os.listdir(folder), ["x.csv"])

    def test_a_file_that_cannot_be_written_is_told_as_that_and_fetched_once(self) -> None:
        class FullDisk(io.BytesIO):
            def write(self, _: Any) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

        with Service(["n\n1\n"] * 2) as service:
            with self.assertRaisesRegex(OSError, "No space left on device") as raised:
                self.client(service)._transport.download("/v1/query/7/results/csv", FullDisk())
            self.assertEqual((raised.exception.errno, len(service.asked), self.pauses), (errno.ENOSPC, 1, []))


class Misuse(unittest.TestCase):
    def test_what_is_read_is_one_thing(self) -> None:
        for wrong in ({}, {"query": 7, "execution": "A"}, {"execution": "A", "parameters": {"a": "b"}}, {"execution": "A", "as_of": "2024-03-05"}):
            with self.subTest(wrong), self.assertRaises(TypeError):
                Read(**wrong)
        with self.assertRaisesRegex(TypeError, "columns is a list"):
            Read(query=7, columns="n")
        for wrong, error, said in (
            ({"query": 7, "limit": "5"}, TypeError, "^limit is a whole number, not '5'$"),
            ({"query": 7, "limit": 1.5}, TypeError, "^limit is a whole number, not 1.5$"),
            ({"query": "x"}, ValueError, "^query is 'x': expected the id of a query$"),
            ({"query": 7.5}, ValueError, "^query is 7.5: expected the id of a query$"),
            ({"query": "7/executions?x="}, ValueError, "^query is '7/executions"),
        ):
            with self.subTest(wrong), self.assertRaisesRegex(error, said):
                Read(**wrong)
        with self.assertRaisesRegex(ValueError, "^query is 'x': expected the id of a query$"):
            QueryResults("http://127.0.0.1:9", "k").execute("x")
        self.assertEqual(Read(dataset="/v1/restaking/avs-stats").address(), "/v1/restaking/avs-stats?")
        self.assertEqual(Read(query=7, columns=[]).address(), "/v1/query/7/results?")
        self.assertEqual(Read(query="7").address(), "/v1/query/7/results?")
        self.assertEqual(Read(query=7.0).address(), "/v1/query/7/results?")

    def test_an_address_and_a_key_that_cannot_be_ones_are_told_at_once_and_no_key_is_shown(self) -> None:
        for url in ("", "127.0.0.1:8080", "localhost:8080", "ftp://results.example.com", "https://", "http://h:99999", "http://h:x", "http://[::1"):
            with self.subTest(url), self.assertRaisesRegex(ValueError, "expected the service's scheme and host"):
                QueryResults(url, "k")
        for key in ("qrs_a\nb", "\u201cqrs_ab\u201d", "qrs_\u2026"):
            with self.subTest(key), self.assertRaisesRegex(ValueError, "^the key has a character that no key has") as raised:
                QueryResults("http://127.0.0.1:1", key)
            self.assertNotIn("qrs_", str(raised.exception))
        with self.assertRaisesRegex(TypeError, "key is a text, not NoneType"):
            QueryResults("http://127.0.0.1:1", None)  # type: ignore[arg-type]
        with Service([{"execution_id": "A", "state": "QUERY_STATE_PENDING", "is_execution_finished": False}]) as service:
            QueryResults(service.url + "\n", "qrs_a\n").status("A")
            self.assertEqual(service.asked[0].headers["X-Service-Api-Key"], "qrs_a")

    def test_an_address_with_more_than_scheme_host_and_prefix_is_refused_at_once_and_no_secret_in_it_is_shown(self) -> None:
        told = '^url has a user, a "\\?" or a "#": expected scheme, host and prefix alone; the key is given as key$'
        for more in ("//ann:pass-word@x.example", "//x.example/?api_key=qrs_0123", "//x.example/#key=qrs_0123", "//x.example?"):
            with self.subTest(more), self.assertRaisesRegex(ValueError, told):
                QueryResults("https:" + more, "k")
        # The key and the address in each other's place.
        told = "^url is no address: expected the service's scheme and host, such as http://127.0.0.1:8080$"
        for url in ("qrs_0123456789", "x.example/?api_key=qrs_0123"):
            with self.subTest(url), self.assertRaisesRegex(ValueError, told):
                QueryResults(url, "https://x.example")

    def test_a_host_and_a_prefix_of_any_script_are_sent_in_ascii_and_a_host_that_cannot_be_is_told_at_once(self) -> None:
        sent = {
            "HTTP://x.example/": "http://x.example/",
            "http://bücher.example:81/präfix": "http://xn--bcher-kva.example:81/pr%C3%A4fix",
            "https://例え.jp": "https://xn--r8jz45g.jp",
            "http://[::1]:80/a%20b c/": "http://[::1]:80/a%20b%20c/",
        }
        self.assertEqual({url: QueryResults(url, "k")._transport.url for url in sent}, sent)
        for url in ("http://a b.example", "http://a..é.example", "http://" + "é" * 64 + ".example"):
            with self.subTest(url), self.assertRaisesRegex(ValueError, "expected the service's scheme and host"):
                QueryResults(url, "k")

    def test_no_representation_shows_the_key(self) -> None:
        self.assertEqual(
            repr(QueryResults("http://x.example", "qrs_0123", sleep=print)._transport),
            "Transport(url='http://x.example', retries=5, timeout=300.0, sleep=<built-in function print>)",
        )

    def test_columns_of_any_name_are_written_as_the_service_reads_them(self) -> None:
        names = ["a b", "a,b", 'c "d"', "f\\", 'g\\"h', " i ", '"', "", "j,\\"]
        written = ["a b", '"a,b"', '"c \\"d\\""', "f\\", '"g\\\\\\"h"', '" i "', '"\\""', '""', '"j,\\\\"']
        address = Read(query=7, columns=names).address()
        self.assertEqual(parse_qs(urlsplit(address).query)["columns"], [",".join(written)])

    def test_a_dataset_may_have_any_name(self) -> None:
        self.assertEqual(Read(dataset="a b/\u00e9?").address(), "/v1/a%20b/%C3%A9%3F?")

    def test_parameters_are_the_same_text_in_a_run_and_in_what_is_read_of_it(self) -> None:
        texts = [parameter_text(value) for value in ("a", True, 7, 2.0, 10**30)]
        self.assertEqual(texts, ["a", "true", "7", "2.0", "1" + "0" * 30])
        self.assertEqual(Read(query=7, parameters={"on": False}).address(), "/v1/query/7/results?params.on=false")

    def test_a_package_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(QueryResultsError, "^to_arrow needs nothere, which is not installed: pip install nothere$"):
            needed("nothere.parquet", "to_arrow")


if __name__ == "__main__":
    unittest.main()
