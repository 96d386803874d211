/** Two starts at once that fill one empty data directory with the demo's datasets: each comes to its end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refreshDemoDatasets } from '../../src/demo/demo-datasets.ts';
import { openBehind } from './behind-the-command.ts';
import { makeCommandLine } from './command.ts';

test('of two that write the source tables at once, both go on with those of the first', async (t) => {
  const qrs = await makeCommandLine(t);
  const told: string[] = [];
  const fill = async (name: string) => {
    await using service = await openBehind(qrs);
    const onFault = (what: string, error: unknown) => assert.fail(`${what}: ${error}`);
    let made = 0;
    const newExecutionId = () => {
      made += 1;
      return `01HR7V4N7VD2Q9D9Z5T2T6${name}0${made}`;
    };
    const effects = { signal: t.signal, owner: name, random: () => 0.5, observe: () => undefined };
    await refreshDemoDatasets(service, { ...effects, onFault, newExecutionId }, (line) => told.push(line));
  };
  await Promise.all([fill('AA'), fill('BB')]);
  assert.deepEqual(told, Array(2).fill('writing source tables for the curated datasets'));
  const sets: { readonly name: string; readonly latest_state: string }[] = JSON.parse(
    await qrs.get('datasets', 'list', '--json'),
  );
  assert.deepEqual(
    sets.map((set) => [set.name, set.latest_state]),
    ['avs-stats', 'operator-stats', 'operator-to-avs-mapping', 'points'].map((name) => [name, 'QUERY_STATE_COMPLETED']),
  );
});
