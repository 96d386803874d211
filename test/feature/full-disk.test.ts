/** A really full disk: a small file system, where the machine lets a test mount one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const isolated = spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', tmpdir()]);
const skip = isolated.status === 0 ? false : 'no file system can be mounted here (unshare --map-root-user --mount)';

/** Fills the disk to its last byte, including the small gaps behind large files. */
const FILL = `
while head -c 65536 /dev/urandom >> "$DISK/fill"; do :; done 2> /dev/null
while printf x >> "$DISK/rest"; do :; done 2> /dev/null
! echo more > "$DISK/more" 2> /dev/null`;

/** The lines that a shell script prints. $DISK is a file system of 16 MB, and `qrs` is the command with its data there. */
async function onSmallDisk(script: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-full-'));
  try {
    // Text that does not compress.
    const rows = Array.from({ length: 60_000 }, () => crypto.randomUUID());
    await writeFile(join(folder, 'rows.csv'), `a\n${rows.join('\n')}\n`);
    const whole = `set -e; mkdir "$DISK"; mount -t tmpfs -o size=16m none "$DISK"; qrs() { "$NODE" "$QRS" "$@"; }; ${script}`;
    const env = {
      ...process.env,
      ...{ DISK: join(folder, 'disk'), ROWS: join(folder, 'rows.csv'), NODE: process.execPath, QRS },
      ...{ QRS_DATA_DIR: join(folder, 'disk/data'), QRS_RETENTION_DAYS: '0.000001', QRS_READ_TIMEOUT: '1' },
    };
    const args = ['--map-root-user', '--mount', 'sh', '-c', whole];
    const { status, stdout, stderr } = spawnSync('unshare', args, { env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.trim().split('\n');
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a sweep alone frees a full disk, though the catalog has no room to be opened', { skip }, async () => {
  const lines = await onSmallDisk(`
    qrs users add ann > /dev/null
    stat -c '%s' "$QRS_DATA_DIR/catalog.sqlite-reserve"
    qrs queries add --id 7 --user ann > /dev/null
    qrs publish "$ROWS" --query 7 > /dev/null
    ${FILL}
    for at in 1 2 3 4 5 6 7 8 9 10; do qrs sweep --json; done
    stat -c '%s' "$QRS_DATA_DIR/catalog.sqlite-reserve"
    find "$QRS_DATA_DIR/results" -name '*.parquet' | wc -l`);
  const [atFirst, ...rest] = lines;
  const [afterwards, left] = rest.splice(-2);
  assert.ok(Number(atFirst) >= 4 * 1024 * 1024, 'the reserve is there from the first start on');
  // Each sweep takes part of a second. Within a few of them the result expires, and the time that a read may take is over.
  const swept = rest.map((line) => JSON.parse(line)).filter(({ expired }) => expired > 0);
  assert.equal(swept.length, 1);
  assert.ok(swept[0].bytes > 1_000_000);
  assert.ok(Number(afterwards) >= 4 * 1024 * 1024, 'and made again');
  assert.equal(left, '0');
});
