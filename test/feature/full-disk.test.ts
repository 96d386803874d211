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

/** Sends the file to query 7, with a key from standard input, and prints the status, the code, and how many rows the latest run has. */
const CLIENT = `
import { readFileSync } from 'node:fs';
const [url, key] = readFileSync(0, 'utf8').split(' ').map((text) => text.trim());
const headers = { 'x-service-api-key': key };
const body = readFileSync(process.env.ROWS);
const sent = await fetch(url + '/v1/query/7/results', { method: 'POST', headers: { ...headers, 'content-type': 'text/csv' }, body });
const { error } = await sent.json();
const latest = await (await fetch(url + '/v1/query/7/results?limit=1', { headers })).json();
const alive = await fetch(url + '/healthz');
console.log(JSON.stringify({ status: sent.status, code: sent.headers.get('x-error-code'), retry: sent.headers.get('retry-after'), error, rows: latest.result?.metadata.total_row_count, alive: alive.status }));
`;

/** Asks for the address, with a key from standard input, and prints the status and the code. */
const READER = `
import { readFileSync } from 'node:fs';
const [url, key] = readFileSync(0, 'utf8').split(' ').map((text) => text.trim());
const answer = await fetch(url, { headers: { 'x-service-api-key': key } });
await answer.arrayBuffer();
console.log(JSON.stringify({ status: answer.status, code: answer.headers.get('x-error-code') }));
`;

/** Adds a query, with a key from standard input, and prints the status and the code. */
const ADDER = `
import { readFileSync } from 'node:fs';
const [url, key] = readFileSync(0, 'utf8').split(' ').map((text) => text.trim());
const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
const answer = await fetch(url + '/v1/query', { method: 'POST', headers, body: JSON.stringify({ name: 'x'.repeat(100) }) });
console.log(JSON.stringify({ status: answer.status, code: answer.headers.get('x-error-code') }));
`;

/** Has query 8 run, with a key from standard input, waits for its end, and prints its state and its error. */
const RUNNER = `
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const [url, key] = readFileSync(0, 'utf8').split(' ').map((text) => text.trim());
const headers = { 'x-service-api-key': key };
const { execution_id } = await (await fetch(url + '/v1/query/8/execute', { method: 'POST', headers })).json();
let told;
do {
  told = await (await fetch(url + '/v1/execution/' + execution_id + '/status', { headers })).json();
  await setTimeout(20);
} while (/PENDING|EXECUTING/.test(told.state));
console.log(JSON.stringify({ state: told.state, error: told.error?.type }));
`;

/** The result of query 7: the rows. */
const PUBLISHED = `
export QRS_RETENTION_DAYS=1 QRS_PORT=0
qrs users add ann > /dev/null
qrs queries add --id 7 --user ann > /dev/null
qrs publish "$ROWS" --query 7 > /dev/null`;

/** Waits for what the service does beside requests, by a process of the lowest priority: whoever looks without a pause keeps it from its work. */
const untilSo = (condition: string) => `until ${condition}; do kill -0 $SERVE; sleep 0.1; done`;

/** A service that listens at URL. */
const SERVE = `
"$NODE" "$QRS" serve > "$LOG" 2>&1 < /dev/null & SERVE=$!
until grep -q 'http://127.0.0.1:' "$LOG"; do kill -0 $SERVE; done
URL=$(grep -o 'http://127.0.0.1:[0-9]*' "$LOG" | head -1)`;

/** A service in which query 7 has the rows, and these a row file. */
const SERVE_WITH_ROW_FILE = `
${PUBLISHED}
KEY=$(qrs keys create --user ann --scope write 2> /dev/null)
${SERVE}
rows() { find "$QRS_DATA_DIR/derived" -maxdepth 1 -type f -name '*.rows' | wc -l; }
for at in 1 2; do echo "$URL/v1/query/7/results?limit=10&offset=$at $KEY" | "$NODE" "$READER" > /dev/null; done
${untilSo('[ "$(rows)" = 1 ]')}`;

/** The lines that a shell script prints. $DISK is a file system of 16 MB, and `qrs` is the command with its data there. */
async function onSmallDisk(script: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-full-'));
  try {
    // Text that does not compress.
    const rows = Array.from({ length: 60_000 }, () => crypto.randomUUID());
    await writeFile(join(folder, 'rows.csv'), `a\n${rows.join('\n')}\n`);
    await writeFile(join(folder, 'client.mjs'), CLIENT);
    await writeFile(join(folder, 'reader.mjs'), READER);
    await writeFile(join(folder, 'runner.mjs'), RUNNER);
    await writeFile(join(folder, 'adder.mjs'), ADDER);
    const whole = `set -e; mkdir "$DISK"; mount -t tmpfs -o size=16m none "$DISK"; qrs() { "$NODE" "$QRS" "$@"; }; ${script}`;
    const env = {
      ...process.env,
      ...{ DISK: join(folder, 'disk'), ROWS: join(folder, 'rows.csv'), NODE: process.execPath, QRS },
      ...{
        CLIENT: join(folder, 'client.mjs'),
        READER: join(folder, 'reader.mjs'),
        RUNNER: join(folder, 'runner.mjs'),
        ADDER: join(folder, 'adder.mjs'),
        LOG: join(folder, 'serve.log'),
      },
      ...{ QRS_DATA_DIR: join(folder, 'disk/data'), QRS_RETENTION_DAYS: '0.000001' },
    };
    const args = ['--map-root-user', '--mount', 'sh', '-c', whole];
    const { status, stdout, stderr } = spawnSync('unshare', args, { env, encoding: 'utf8', timeout: 240_000 });
    assert.equal(status, 0, stderr);
    return stdout.trim().split('\n');
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('a sweep alone frees a full disk, though the catalog has no room to be opened', { skip }, async () => {
  const lines = await onSmallDisk(`
    export QRS_READ_TIMEOUT=1
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

test('results that are sent to a full disk are refused and leave nothing, and those that are there are served', {
  skip,
}, async () => {
  const lines = await onSmallDisk(`
    export QRS_UPLOAD_DISK=1TB
    ${PUBLISHED}
    KEY=$(qrs keys create --user ann --scope write 2> /dev/null)
    ${SERVE}
    send() { echo "$URL $KEY" | "$NODE" "$CLIENT"; }
    staged() { find "$QRS_DATA_DIR/results/staging" -type f | wc -l; }
    objects() { find "$QRS_DATA_DIR/results" -name '*.parquet' | wc -l; }
    for room in 0 2500; do
      head -c $((room * 1000)) /dev/zero > "$DISK/room"
      while head -c 4096 /dev/zero >> "$DISK/fill"; do :; done 2> /dev/null
      rm "$DISK/room"
      send; staged; objects
      rm "$DISK/fill"
    done
    send; staged; objects
    kill $SERVE
    wait $SERVE || true`);
  const outcomes = Array.from({ length: 3 }, (_, i) => lines.slice(3 * i, 3 * i + 3));
  const full = {
    status: 503,
    code: 'storage_full',
    retry: '60',
    rows: 60_000,
    alive: 200,
  };
  for (const [sent, staged, objects] of outcomes.slice(0, 2)) {
    const { error, ...rest } = JSON.parse(sent ?? '');
    assert.deepEqual([rest, staged, objects], [full, '0', '1']);
    assert.match(error, /a disk of the service is full/);
  }
  const [sent, staged, objects] = outcomes[2] ?? [];
  assert.deepEqual(
    [JSON.parse(sent ?? ''), staged, objects],
    [{ status: 201, code: null, retry: null, rows: 60_000, alive: 200 }, '0', '2'],
  );
});

test('what was made from results, and nobody reads, makes room on a full disk for what somebody asks for', {
  skip,
}, async () => {
  const lines = await onSmallDisk(`
    ${PUBLISHED}
    KEY=$(qrs keys create --user ann 2> /dev/null)
    ${SERVE}
    URL=$URL/v1/query/7/results
    get() { echo "$URL?ignore_max_datapoints_per_request=true&$1 $KEY" | "$NODE" "$READER"; }
    # Without what is being built, which lies in a folder below.
    made() { { find "$QRS_DATA_DIR/derived" -maxdepth 1 -type f; find "$QRS_DATA_DIR/views" -type f; } | grep -Eo '[a-z]+$' | sort | tr '\\n' ' '; echo; }
    echo mine > "$QRS_DATA_DIR/derived/mine.txt"
    for at in 1 2; do get "limit=10&offset=$at" > /dev/null; done
    ${untilSo('made | grep -q rows')}
    made
    ${FILL}
    get 'format=parquet&limit=20000'; made
    kill $SERVE
    wait $SERVE || true`);
  assert.deepEqual(lines, ['rows txt ', '{"status":200,"code":null}', 'parquet txt']);
});

test('with the usual settings a result that is sent gets its room on a full disk from there too, or is told that there is none', {
  skip,
}, async () => {
  const lines = await onSmallDisk(`
    ${SERVE_WITH_ROW_FILE}
    head -5000 "$ROWS" > "$DISK/few.csv"
    ${FILL}
    rows
    echo "$URL $KEY" | ROWS="$DISK/few.csv" "$NODE" "$CLIENT"; rows
    echo "$URL $KEY" | "$NODE" "$CLIENT"
    kill $SERVE
    wait $SERVE || true`);
  const [before, few, after, many = ''] = lines;
  assert.deepEqual([before, after], ['1', '0']);
  assert.deepEqual(few, '{"status":201,"code":null,"retry":null,"rows":4999,"alive":200}');
  const { error, ...refused } = JSON.parse(many);
  assert.deepEqual(refused, { status: 503, code: 'storage_full', retry: '60', rows: 4999, alive: 200 });
  assert.match(error, /^a disk of the service is too full: results that are being sent may take \d+ bytes of it/);
});

/** Sends 8,000 lines to a disk that is full but for so many bytes; prints how many row files there are before, what was answered, and how many are left. */
async function sendIntoRoom(bytes: number): Promise<readonly string[]> {
  return await onSmallDisk(`
    export QRS_UPLOAD_DISK=1TB
    ${SERVE_WITH_ROW_FILE}
    head -8000 "$ROWS" > "$DISK/few.csv"
    head -c ${bytes} /dev/zero > "$DISK/room"
    ${FILL}
    rm "$DISK/room"
    rows
    echo "$URL $KEY" | ROWS="$DISK/few.csv" "$NODE" "$CLIENT"; rows
    kill $SERVE
    wait $SERVE || true`);
}

test('a body that arrives on a full disk gets its room from there, whatever results that are being sent may take', {
  skip,
}, async () => {
  // For commits, and not for the body.
  const lines = await sendIntoRoom(100_000);
  assert.deepEqual(lines, ['1', '{"status":201,"code":null,"retry":null,"rows":7999,"alive":200}', '0']);
});

test('what a result that is sent is converted to gets its room from there, whatever results that are being sent may take', {
  skip,
}, async () => {
  const lines = await sendIntoRoom(400_000);
  assert.deepEqual(lines, ['1', '{"status":201,"code":null,"retry":null,"rows":7999,"alive":200}', '0']);
});

test('the rows of a run get their room on a full disk from there, and where that does not suffice the run says so', {
  skip,
}, async () => {
  const lines = await onSmallDisk(`
    ${SERVE_WITH_ROW_FILE}
    echo 'SELECT md5(i::VARCHAR) AS a FROM range(30000) r(i)' > "$DISK/rows.sql"
    qrs queries add --id 8 --user ann --sql "$DISK/rows.sql" > /dev/null
    head -c 300000 /dev/zero > "$DISK/room"
    ${FILL}
    rm "$DISK/room"
    echo "$URL $KEY" | "$NODE" "$RUNNER"; rows
    while head -c 65536 /dev/zero >> "$DISK/fill"; do :; done 2> /dev/null
    truncate -s -300000 "$DISK/fill"
    echo "$URL $KEY" | "$NODE" "$RUNNER"
    kill $SERVE
    wait $SERVE || true`);
  assert.deepEqual(lines, [
    '{"state":"QUERY_STATE_COMPLETED"}',
    '0',
    '{"state":"QUERY_STATE_FAILED","error":"storage_full"}',
  ]);
});

test('a change that a full disk took no commit of finds room when it is tried again', { skip }, async () => {
  const lines = await onSmallDisk(`
    ${SERVE_WITH_ROW_FILE}
    ${FILL}
    add() { echo "$URL $KEY" | "$NODE" "$ADDER"; }
    add; add
    kill $SERVE
    wait $SERVE || true`);
  assert.deepEqual(lines, ['{"status":503,"code":"storage_full"}', '{"status":201,"code":null}']);
});
