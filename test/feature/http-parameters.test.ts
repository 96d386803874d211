/** Contract §1: what may be in the query string, and what is answered to anything else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getEnvelope, getText } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test('parameters', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n,w\n1,x\n2,y\n3,z\n');
  const byExecution = `/v1/execution/${id}/results`;
  const byQuery = '/v1/query/7/results';
  const numbers = async (query: string) =>
    (await getEnvelope(service, `${byQuery}?${query}`)).result.rows.map(({ n }) => n);
  const refusal = async (query: string, path = byQuery) => {
    const response = await service.get(`${path}?${query}`);
    assert.equal(response.status, 400, query);
    return [response.headers.get('x-error-code'), ((await response.json()) as { error: string }).error];
  };

  await t.test('execution_id and queryID are optional, and may repeat what the address says', async () => {
    assert.equal((await getText(service, `${byExecution}?execution_id=${id}`))[0], 200);
    assert.equal((await getText(service, `${byExecution}/csv?execution_id=${id.toLowerCase()}`))[0], 200);
    assert.equal((await getText(service, `${byQuery}?queryID=7`))[0], 200);
    assert.equal((await getText(service, `${byQuery}/csv?queryID=7`))[0], 200);
  });

  await t.test('execution_id or queryID that differs from the address is refused', async () => {
    const other = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';
    assert.deepEqual(await refusal(`execution_id=${other}`, byExecution), [
      'invalid_parameter',
      `execution_id: found "${other}", but the address asks for ${id}`,
    ]);
    assert.deepEqual(await refusal('queryID=8'), [
      'invalid_parameter',
      'queryID: found "8", but the address asks for 7',
    ]);
  });

  await t.test('the status takes an execution_id equal to its address, and refuses another', async () => {
    const status = `/v1/execution/${id}/status`;
    assert.equal((await getText(service, `${status}?execution_id=${id}`))[0], 200);
    assert.deepEqual(await refusal('execution_id=01HR7PD8XYZ3M4N5P6Q7R8S9TA', status), [
      'invalid_parameter',
      `execution_id: found "01HR7PD8XYZ3M4N5P6Q7R8S9TA", but the address asks for ${id}`,
    ]);
  });

  await t.test('a named parameter with two values, or with a NUL, is refused, since no run can have it', async () => {
    assert.equal((await getText(service, `${byQuery}?params.x=1&params.x=1`))[0], 404);
    for (const [query, problem] of [
      ['params.x=1&params.x=2', 'params.x: sent 2 times with different values, expected one'],
      ['params.x=&params.x=2', 'params.x: sent 2 times with different values, expected one'],
      ['params.x=a%00', 'params.x: found a NUL character, expected text without one'],
    ] as const) {
      assert.deepEqual(await refusal(query), ['invalid_parameter', problem]);
      const [status] = await getText(service, `/v1/query/99/results?${query}`);
      assert.equal(status, 404, 'that the query is not there comes first');
      assert.equal((await getText(service, `${byExecution}?${query}`))[0], 200, 'ignored by execution');
    }
  });

  await t.test('of execution_id and queryID, the one that the address does not name is ignored', async () => {
    assert.equal((await getText(service, `${byExecution}?queryID=8`))[0], 200);
    assert.equal((await getText(service, `${byQuery}?execution_id=anything`))[0], 200);
  });

  await t.test('unknown parameters are ignored', async () => {
    assert.deepEqual(await numbers('Limit=1&performance=large&=&&x'), [1, 2, 3]);
  });

  await t.test('empty values count as absent', async () => {
    const query =
      'filters=&sort_by=&columns=&limit=&offset=&sample_count=&allow_partial_results=&ignore_max_datapoints_per_request=&queryID=&api_key=';
    assert.deepEqual(await numbers(query), [1, 2, 3]);
    assert.deepEqual(await numbers('limit=2&sample_count='), [1, 2]);
    assert.deepEqual((await numbers('sample_count=3&limit=&offset=&filters=')).length, 3);
  });

  await t.test('booleans: true and false in any case, 1 and 0', async () => {
    for (const name of ['allow_partial_results', 'ignore_max_datapoints_per_request']) {
      for (const value of ['true', 'false', 'TRUE', 'False', 'tRuE', '1', '0']) {
        assert.deepEqual(await numbers(`${name}=${value}`), [1, 2, 3]);
      }
    }
  });

  await t.test('anything else for a boolean is refused', async () => {
    for (const name of ['allow_partial_results', 'ignore_max_datapoints_per_request']) {
      for (const value of ['yes', '2', 'tru', 'null', 'on']) {
        const expected = `${name}: found "${value}", expected true or false`;
        assert.deepEqual(await refusal(`${name}=${value}`), ['invalid_parameter', expected]);
      }
    }
  });

  await t.test('integers: decimal digits', async () => {
    assert.deepEqual(await numbers('limit=2'), [1, 2]);
    assert.deepEqual(await numbers('limit=002'), [1, 2]);
    assert.deepEqual(await numbers('offset=1'), [2, 3]);
    assert.deepEqual(await numbers('offset=0&limit=99999999999999999999'), [1, 2, 3]);
    assert.deepEqual(await numbers('offset=99999999999999999999'), []);
  });

  await t.test('anything else for an integer is refused', async () => {
    for (const [name, least] of [
      ['limit', 0],
      ['offset', 0],
      ['sample_count', 1],
    ] as const) {
      for (const value of ['-1', '1.5', '1e3', 'abc', '0x10', '१']) {
        const expected = `${name}: found "${value}", expected a whole number, at least ${least}`;
        assert.deepEqual(await refusal(`${name}=${encodeURIComponent(value)}`), ['invalid_parameter', expected]);
      }
    }
    assert.equal((await refusal('sample_count=0'))[1], 'sample_count: found "0", expected a whole number, at least 1');
    assert.equal((await refusal('limit=%2B1'))[1], 'limit: found "+1", expected a whole number, at least 0');
  });

  await t.test('limit=0: no rows, full metadata, no next page', async () => {
    const page = await getEnvelope(service, `${byQuery}?limit=0`);
    assert.deepEqual(page.result.rows, []);
    assert.deepEqual(page.result.metadata, {
      column_names: ['n', 'w'],
      column_types: ['bigint', 'varchar'],
      row_count: 0,
      result_set_bytes: 0,
      total_row_count: 3,
      total_result_set_bytes: 27,
      datapoint_count: 0,
      pending_time_millis: 0,
      execution_time_millis: 0,
    });
    assert(!('next_offset' in page) && !('next_uri' in page));
    const csv = await service.get(`${byQuery}/csv?limit=0`);
    assert.deepEqual([await csv.text(), csv.headers.get('link')], ['n,w\n', null]);
  });

  await t.test('a parameter sent twice must say the same twice', async () => {
    assert.deepEqual(await numbers('limit=1&limit=1'), [1]);
    assert.deepEqual(await refusal('limit=1&limit=2'), [
      'invalid_parameter',
      'limit: sent 2 times with different values, expected one',
    ]);
  });
});

test('execution_id or queryID that differs from the address is refused, also where another address has been given these bytes', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n\n1\n');
  const status = async (path: string) => (await getText(service, path))[0];
  for (let time = 0; time < 3; time += 1) {
    // Not of this kind of address, so that it says nothing here.
    assert.equal(await status('/v1/query/7/results?execution_id=x'), 200);
    assert.equal(await status(`/v1/execution/${id}/results?execution_id=x`), 400);
    assert.equal(await status(`/v1/execution/${id}/diff/${id}?queryID=9`), 200);
    assert.equal(await status(`/v1/query/7/diff?from=2030-01-01&queryID=9`), 400);
    assert.equal(await status(`/v1/execution/${id}/results?queryID=9&format=parquet`), 200);
    assert.equal(await status('/v1/query/7/results?queryID=9&format=parquet'), 400);
  }
});

test('the query string may be written as people write it', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'a b,100%,50%zz,a+b,é\n1,2,3,4,5\n');
  const columns = async (text: string) =>
    (await getEnvelope(service, `/v1/query/7/results?columns=${text}`)).result.metadata.column_names;

  await t.test('+ and %20 are blanks', async () => {
    assert.deepEqual(await columns('a+b'), ['a b']);
    assert.deepEqual(await columns('a%20b'), ['a b']);
    assert.deepEqual(await columns('a%2Bb'), ['a+b']);
  });

  await t.test('a stray % is a percent sign, never a 400', async () => {
    assert.deepEqual(await columns('100%'), ['100%']);
    assert.deepEqual(await columns('100%25'), ['100%']);
    assert.deepEqual(await columns('50%zz,100%'), ['50%zz', '100%']);
    assert.equal((await getText(service, '/v1/query/7/results?x=%&%=1&y=%F'))[0], 200);
  });

  await t.test('escapes are UTF-8, and unescaped characters are taken as they are', async () => {
    assert.deepEqual(await columns('%C3%A9'), ['é']);
    assert.deepEqual(await columns('%c3%a9'), ['é']);
    assert.equal((await getText(service, '/v1/query/7/results?x=%FF%FE'))[0], 200);
  });
});

test('a pattern that is not escaped keeps its percent signs, also before two hexadecimal digits', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'name\nMaker DAO\nAave\nDÉDAIN\n');
  for (const [pattern, names] of [
    ["%DAO%'", ['Maker DAO']],
    ["%aave%'", ['Aave']],
    ["%%C3%89DAI%'", ['DÉDAIN']],
  ] as const) {
    const { result } = await getEnvelope(service, `/v1/query/7/results?filters=name+ilike+'${pattern}`);
    assert.deepEqual(
      result.rows,
      names.map((name) => ({ name })),
    );
  }
});

test('columns', async (t) => {
  const service = await startHttpService(t);
  const header = ['wallet', 'block_time', '"a,b"', '"say ""hi"""', ' padded ', 'Amount', 'amount', 'Fee'].join(',');
  await service.publish(7, `${header}\n1,2,3,4,5,6,7,8\n`);
  const page = async (text: string) =>
    (await getEnvelope(service, `/v1/query/7/results?columns=${encodeURIComponent(text)}`)).result;
  const columns = async (text: string) => (await page(text)).metadata.column_names;
  const refusal = async (text: string) => {
    const [status, body] = await getText(service, `/v1/query/7/results?columns=${encodeURIComponent(text)}`);
    assert.equal(status, 400);
    return JSON.parse(body).error;
  };

  await t.test('are answered in the order asked, in names, types, keys and CSV', async () => {
    const { metadata, rows } = await page('Fee,wallet');
    assert.deepEqual(metadata.column_names, ['Fee', 'wallet']);
    assert.deepEqual(metadata.column_types, ['bigint', 'bigint']);
    assert.deepEqual(Object.entries(rows[0] ?? {}), [
      ['Fee', 8],
      ['wallet', 1],
    ]);
    assert.equal((await getText(service, '/v1/query/7/results/csv?columns=Fee,wallet'))[1], 'Fee,wallet\n8,1\n');
  });

  await t.test('blanks around names are trimmed', async () => {
    assert.deepEqual(await columns('  wallet ,\tFee '), ['wallet', 'Fee']);
  });

  await t.test('a name in double quotes is taken literally: commas, quotes and blanks', async () => {
    assert.deepEqual(await columns('"a,b", "wallet"'), ['a,b', 'wallet']);
    assert.deepEqual(await columns('"say ""hi"""'), ['say "hi"']);
    assert.deepEqual(await columns('"say \\"hi\\""'), ['say "hi"']);
    assert.deepEqual(await columns('" padded "'), [' padded ']);
  });

  await t.test('a name asked for twice is answered once, at its first place', async () => {
    assert.deepEqual(await columns('Fee,wallet,Fee,"wallet"'), ['Fee', 'wallet']);
  });

  await t.test('a name matches in any case when only one column does', async () => {
    assert.deepEqual(await columns('WALLET,fee,amount,Amount'), ['wallet', 'Fee', 'amount', 'Amount']);
    assert.equal(
      await refusal('AMOUNT'),
      'columns: "AMOUNT" could be "Amount" or "amount"; write the one you mean exactly',
    );
  });

  await t.test('an unknown name is refused, and names near it are offered', async () => {
    assert.equal(await refusal('walet'), 'columns: there is no column "walet". Did you mean "wallet"?');
    assert.equal(await refusal('wallet,time'), 'columns: there is no column "time". Did you mean "block_time"?');
    assert.match(
      await refusal('zzzz'),
      /^columns: there is no column "zzzz"\. The columns are "wallet", "block_time", /,
    );
    assert.match(
      await refusal('z'.repeat(9000)),
      /^columns: there is no column "z{100}…"\. The columns are "wallet", /,
    );
  });

  await t.test('text that is no list of names is refused, with the position', async () => {
    assert.equal(
      await refusal('wallet,,Fee'),
      'columns, position 8: found no column name, expected one on each side of a comma',
    );
    assert.equal(
      await refusal('wallet,'),
      'columns, position 8: found no column name, expected one on each side of a comma',
    );
    assert.equal(await refusal('Fee,"wallet'), 'columns, position 5: found a double quote that is never closed');
    assert.equal(
      await refusal('"wallet" x'),
      'columns, position 9: found text after a closing quote, expected a comma',
    );
  });
});

test('a column is named in columns, sort_by and filters, whatever its name', async (t) => {
  const service = await startHttpService(t);
  const names = ['a,b', 'say "hi"', 'C:\\', '\\"', '"', ' a ', 'größe 🙂', "it's", 'a\\\\b', 'select', '*', 'a=b&c'];
  const row = Object.fromEntries(names.map((name, index) => [name, index]));
  const next = Object.fromEntries(names.map((name, index) => [name, index + 100]));
  await service.publish(7, `${JSON.stringify(row)}\n${JSON.stringify(next)}\n`, { format: 'ndjson' });
  const rows = async (parameters: Readonly<Record<string, string>>) => {
    const answer = await service.get(`/v1/query/7/results?${new URLSearchParams(parameters)}`);
    const body = (await answer.json()) as { readonly result?: { readonly rows: unknown }; readonly error?: string };
    return body.result?.rows ?? body.error;
  };
  for (const [index, name] of names.entries()) {
    const inExpressions = `"${name.replaceAll('"', '""')}"`;
    const inColumns = inExpressions.replaceAll('\\', '\\\\');
    assert.deepEqual(await rows({ columns: inColumns, filters: `${inExpressions} = ${index}` }), [{ [name]: index }]);
    assert.deepEqual(await rows({ columns: inColumns, sort_by: `${inExpressions} desc` }), [
      { [name]: index + 100 },
      { [name]: index },
    ]);
  }
  const all = names.map((name) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',');
  assert.deepEqual(await rows({ columns: all }), [row, next]);
});
