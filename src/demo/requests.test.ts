/** The first address that the demo prints is the one to open in a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoRequests } from './requests.ts';

const URL = 'http://127.0.0.1:8080';
const firstAddress = (text: string) => /https?:\/\/[^\s']+/.exec(text)?.[0];

test('the address of the explorer comes first, with the key that opens it', () => {
  for (const hasQueries of [true, false]) {
    assert.equal(firstAddress(demoRequests(URL, { key: 'qrs_1', hasQueries })), `${URL}/#key=qrs_1`);
  }
  assert.equal(firstAddress(demoRequests(URL, undefined)), `${URL}/`);
});
