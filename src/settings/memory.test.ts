import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings, SettingsError } from './load-settings.ts';
import { engineMemoryOfEach, formatMemorySum, memorySum } from './memory.ts';

const GB = 1_000_000_000;

function load(environment: Readonly<Record<string, string>>, machineBytes?: number) {
  return loadSettings({
    environment,
    readFile: () => undefined,
    ...(machineBytes !== undefined && { machineBytes }),
  }).settings;
}

test('the most memory is 60 % of the machine, at most 4 GB, at least 512 MB', () => {
  assert.equal(load({}, 3 * GB).memoryBytes, 1.8 * GB);
  assert.equal(load({}, 64 * GB).memoryBytes, 4 * GB);
  assert.equal(load({}, 0.5 * GB).memoryBytes, 0.512 * GB);
  assert.equal(load({ QRS_MEMORY: 'AUTO' }, 3 * GB).memoryBytes, 1.8 * GB);
});

test('a given size counts, whatever the machine has', () => {
  assert.equal(load({ QRS_MEMORY: '16GB' }, 3 * GB).memoryBytes, 16 * GB);
});

test('the other settings of memory are shares of it, at least 64 MB each, and 160 MB for scheduled queries', () => {
  const { readMemoryBytes, heavyMemoryBytes, publishMemoryBytes, engineMemoryBytes, pageCacheBytes } = load({
    QRS_MEMORY: '2GB',
  });
  assert.deepEqual(
    [readMemoryBytes, heavyMemoryBytes, publishMemoryBytes, engineMemoryBytes, pageCacheBytes],
    [600_000_000, 240_000_000, 520_000_000, 200_000_000, 200_000_000],
  );
  assert.equal(load({ QRS_MEMORY: '512MB' }).heavyMemoryBytes, 64_000_000);
  assert.equal(load({ QRS_MEMORY: '1GB' }).engineMemoryBytes, 160_000_000);
  assert.equal(load({ QRS_MEMORY: '1GB', QRS_ENGINE_MEMORY: '64MB' }).engineMemoryBytes, 64_000_000);
});

test('queries that run at the same time share theirs, and each gets what the curated datasets need', () => {
  assert.equal(engineMemoryOfEach(1_000_000_000, 2), 500_000_000);
  assert.equal(engineMemoryOfEach(200_000_000, 2), 160_000_000);
  assert.equal(engineMemoryOfEach(64_000_000, 2), 64_000_000);
});

test('each may be set to another share, or to a size', () => {
  const settings = load({
    QRS_MEMORY: '2GB',
    QRS_READ_MEMORY: '12.5 %',
    QRS_ENGINE_MEMORY: '1GB',
    QRS_PAGE_CACHE: '0',
  });
  assert.deepEqual(
    [settings.readMemoryBytes, settings.engineMemoryBytes, settings.pageCacheBytes],
    [250_000_000, 1_000_000_000, 0],
  );
});

test('the sum says what each takes, and what is left for the process itself', () => {
  assert.equal(
    formatMemorySum(memorySum(load({}, 64 * GB))),
    'reading 1200 MB + views and Parquet answers 480 MB + publishing 1040 MB + scheduled queries 400 MB + finished answers 400 MB + the process itself 480 MB = 4000 MB',
  );
  const beyond = memorySum(load({ QRS_MEMORY: '1GB', QRS_READ_MEMORY: '1GB' }));
  assert.equal(beyond.restBytes, -640_000_000);
});

test('a value that is neither a share nor a size is refused', () => {
  for (const [name, value] of [
    ['QRS_MEMORY', '50%'],
    ['QRS_MEMORY', '511MB'],
    ['QRS_READ_MEMORY', '101%'],
    ['QRS_READ_MEMORY', '-5%'],
    ['QRS_READ_MEMORY', '%'],
    ['QRS_READ_MEMORY', 'auto'],
  ] as const) {
    assert.throws(() => load({ [name]: value }), SettingsError, `${name}=${value}`);
  }
});
