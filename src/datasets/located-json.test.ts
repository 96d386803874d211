/** The line that is told of what is no JSON. What is wrong in JSON itself is tested with the datasets of an installation's own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotJson, readLocatedJson } from './located-json.ts';

const CASES: readonly (readonly [text: string, line: number, message: string])[] = [
  ['{\n"a": three,\n"b": 1\n}\n', 2, "Unexpected token 'h'"],
  ['{\n"a": 1,\n"b": /v1/x,\n"c": "and more text, so that only a part of it is shown"\n}', 3, "Unexpected token '/'"],
  ['{\n"a": [\n1,\n2,\n],\n"b": []\n}', 5, "Unexpected token ']'"],
  ['{\n"a": [],\n"b":\n}\n\n', 4, "Unexpected token '}'"],
  ["{\n'a': 1\n}\n", 2, "Expected property name or '}' in JSON"],
  ['{\n"a": 1\n"b": 2\n}', 3, "Expected ',' or '}' after property value in JSON"],
  ['{\n"a": [1', 2, "Expected ',' or ']' after array element in JSON"],
  ['{\n"a":', 2, 'Unexpected end of JSON input'],
];
for (const [text, line, message] of CASES) {
  test(`${JSON.stringify(text)} is no JSON in line ${line}`, () => {
    assert.throws(() => readLocatedJson(text), new NotJson(message, line));
  });
}
