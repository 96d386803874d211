import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQueryString } from './query-string.ts';
import { parseSharedParameters, requireSameTarget } from './results-request.ts';
import { SHARED_PARAMETERS, type SharedParameter } from './shared-parameters.ts';

const TABLE: readonly SharedParameter[] = Object.values(SHARED_PARAMETERS);
const TARGET = { kind: 'query', queryId: SHARED_PARAMETERS.queryId.example } as const;

function parse(text: string) {
  const parameters = parseQueryString(text);
  requireSameTarget(parameters, TARGET);
  return parseSharedParameters(parameters);
}

test('these are the parameters of specification §4.9 without the key, and our own: the format, how values are spelled, a search, a time', () => {
  assert.deepEqual(TABLE.map(({ name }) => name).toSorted(), [
    'allow_partial_results',
    'as_of',
    'bigints',
    'columns',
    'count',
    'csv',
    'execution_id',
    'filters',
    'format',
    'ignore_max_datapoints_per_request',
    'limit',
    'offset',
    'queryID',
    'sample_count',
    'sample_seed',
    'search',
    'sort_by',
  ]);
});

for (const parameter of TABLE) {
  const { name } = parameter;
  if (parameter.kind === 'boolean') continue;
  test(`${name}: the example is accepted`, () => {
    // A seed is one of a sample.
    const beside = parameter === SHARED_PARAMETERS.sampleSeed ? '&sample_count=1' : '';
    assert.doesNotThrow(() => parse(`${name}=${encodeURIComponent(parameter.example)}${beside}`));
  });
  if (parameter.kind !== 'integer') continue;
  test(`${name}: a number below ${parameter.min}, or none at all, is refused`, () => {
    const message = (found: string) => `${name}: found "${found}", expected a whole number, at least ${parameter.min}`;
    for (const found of [String(parameter.min - 1), '1.5', 'ten']) {
      assert.throws(() => parse(`${name}=${found}`), { code: 'invalid_parameter', message: message(found) });
    }
  });
}

for (const excluded of SHARED_PARAMETERS.sampleCount.excludes) {
  test(`sample_count is refused together with ${excluded}, unless that is empty`, () => {
    const message = `sample_count and ${excluded} cannot be combined: a sample is drawn from the whole result`;
    assert.throws(() => parse(`sample_count=5&${excluded}=0`), { code: 'incompatible_parameters', message });
    assert.equal(parse(`sample_count=5&${excluded}=`).sampleCount, 5);
  });
}
