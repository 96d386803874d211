import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../settings/load-settings.ts';
import { examineMemory } from './memory.ts';

const MB = 1_000_000;

function examine(environment: Readonly<Record<string, string>>, machineMegabytes: number) {
  const machineBytes = machineMegabytes * MB;
  const { settings } = loadSettings({ environment, readFile: () => undefined, machineBytes });
  return examineMemory(settings, machineBytes);
}

test('the defaults fit', () => {
  assert.deepEqual(examine({}, 4000), {
    check: 'memory',
    status: 'ok',
    found:
      'reading 720 MB + views and Parquet answers 288 MB + publishing 624 MB + scheduled queries 240 MB + finished answers 240 MB + the process itself 288 MB = 2400 MB',
  });
});

test('more than the machine has, or shares that leave nothing to the process, are reported', () => {
  const beyond = examine({ QRS_MEMORY: '6GB' }, 4000);
  assert.deepEqual(
    [beyond.status, beyond.advice],
    ['warning', 'the machine, or its cgroup, has 4000 MB: lower QRS_MEMORY'],
  );
  const full = examine({ QRS_MEMORY: '2GB', QRS_READ_MEMORY: '90%' }, 4000);
  assert.match(full.advice ?? '', /^the process itself takes about 150 MB: raise QRS_MEMORY/);
});

test('workers take that of each, and more of them than the service starts are wrong', () => {
  assert.equal(examine({ QRS_WORKERS: '2', QRS_MEMORY: '4GB' }, 8000).status, 'ok');
  assert.deepEqual(examine({ QRS_WORKERS: '4', QRS_MEMORY: '4GB' }, 8000), {
    check: 'memory',
    status: 'warning',
    found:
      'reading 1200 MB + views and Parquet answers 480 MB + publishing 1040 MB + scheduled queries 400 MB + finished answers 400 MB + the process itself 480 MB = 4000 MB, of 4 workers together',
    advice: 'each process itself takes about 150 MB: raise QRS_MEMORY, or have fewer QRS_WORKERS',
  });
  assert.deepEqual(examine({ QRS_WORKERS: '16', QRS_MEMORY: '4GB' }, 8000), {
    check: 'memory',
    status: 'wrong',
    found:
      'QRS_MEMORY is 4000 MB, which leaves each of 16 workers 250 MB; each needs 256 MB: give more memory, or fewer workers',
  });
});
