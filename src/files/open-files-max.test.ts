import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { softLimitOfReport } from './open-files-max.ts';

const PRINT = `import('${import.meta.resolve('./open-files-max.ts')}').then((m) => console.log(m.openFilesMax()))`;

for (const limit of [300, 1000]) {
  test(`the limit of open files is that of the process: ${limit}`, () => {
    const printed = execFileSync('sh', ['-c', `ulimit -n ${limit}; "$0" -e "$1"`, process.execPath, PRINT]);
    assert.equal(printed.toString(), `${limit}\n`);
  });
}

test('where the system has no file that tells it, the report of the process does', () => {
  assert.ok(softLimitOfReport() === 'unlimited' || Number(softLimitOfReport()) > 0);
});
