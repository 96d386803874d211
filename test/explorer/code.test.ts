/** “As code” is code that runs: in each language that this machine has, with the rows on the screen as its result. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { pythonWithEngines } from '../../scripts/engines.ts';
import { skip, startExplorer } from './browser.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const TSC = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
const NODE_TYPES = join(dirname(require.resolve('@types/node/package.json')), '..');
const STRICT = '--noEmit --strict --noUncheckedIndexedAccess --target es2022 --module nodenext --types node';

const python = [pythonWithEngines(), 'python3'].find(
  (path) => path !== undefined && spawnSync(path, ['-c', 'import requests']).status === 0,
);
const skipPython = skip || (python === undefined && 'no Python with the package requests');

/** A text that every language would take for something else, if it were not quoted as that language wants it. */
const NASTY = `o'neil "5" \\n $HOME \${1} \`id\` {x} 100% é😀 <b>&`;
/** 300 rows on three pages. */
const PAGES = { QRS_MAX_DATAPOINTS: '300' };
const ROWS = Array.from({ length: 300 }, (_, n) => ({ name: NASTY, amount: String(2n ** 200n + BigInt(n)) }));

/** The code for the rows with that text, largest amount first, as the page shows it. */
async function codeFor(t: TestContext, language: string) {
  const { service, open, complaints } = await startExplorer(t, PAGES);
  const others = Array.from({ length: 50 }, (_, n) => ({ name: 'x', amount: String(n) }));
  const lines = [...ROWS, ...others].map((row) => `${JSON.stringify(row)}\n`);
  await service.publish(7, lines.join(''), { format: 'ndjson', types: { amount: 'uint256' } });
  const shown = new URLSearchParams({
    filters: `name = '${NASTY.replaceAll("'", "''")}'`,
    sort_by: 'amount desc',
    tab: 'code',
    language,
  });
  const page = await open(`/queries/7?${shown}`);
  const code = await page.locator('.code pre').innerText();
  assert.deepEqual(complaints, []);
  const folder = await mkdtemp(join(tmpdir(), 'qrs-code-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const execute = async (file: string, args: readonly string[]) =>
    (await run(file, [...args], { cwd: folder, env: { ...process.env, QRS_KEY: service.key } })).stdout;
  return { code, folder, execute, key: service.key };
}

test('TypeScript compiles for a strict reader, and gives all rows of all pages', { skip }, async (t) => {
  const { code, folder, execute } = await codeFor(t, 'TypeScript');
  await writeFile(join(folder, 'code.mts'), `${code}\nconsole.log(JSON.stringify(rows));\n`);
  await execute(process.execPath, [TSC, ...STRICT.split(' '), '--typeRoots', NODE_TYPES, 'code.mts']);
  assert.deepEqual(JSON.parse(await execute(process.execPath, ['code.mts'])), ROWS.toReversed());
});

test('Python gives all rows of all pages', { skip: skipPython }, async (t) => {
  const { code, folder, execute } = await codeFor(t, 'Python');
  await writeFile(join(folder, 'code.py'), `${code}\nimport json\nprint(json.dumps(rows))\n`);
  assert.deepEqual(JSON.parse(await execute(python ?? '', ['code.py'])), ROWS.toReversed());
});

test('curl gives the first page', { skip }, async (t) => {
  const { code, execute } = await codeFor(t, 'curl');
  const { result } = JSON.parse(await execute('sh', ['-c', `${code} -s`]));
  assert.deepEqual(result.rows, ROWS.toReversed().slice(0, 150));
});

test("a spreadsheet's formula has an address that answers with the rows as CSV", { skip }, async (t) => {
  const { code, key } = await codeFor(t, 'Spreadsheet');
  const [, address = ''] = /^=IMPORTDATA\("([^"]+)"\)$/.exec(code) ?? [];
  const answer = await fetch(address.replace('YOUR_KEY', key));
  const [header, first] = (await answer.text()).split('\n');
  assert.deepEqual([answer.status, header], [200, 'name,amount']);
  assert.equal(first, `"${NASTY.replaceAll('"', '""')}",${2n ** 200n + 299n}`);
});

test('the rows there are of a truncated result, and what changed since one, as the page shows them', {
  skip,
}, async (t) => {
  const { service, open, complaints } = await startExplorer(t);
  const rows = Array.from({ length: 100 }, (_, n) => ({ n, text: 'x'.repeat(100) }));
  const csv = `n,text\n${rows.map(({ n, text }) => `${n},${text}\n`).join('')}`;
  const truncated = await service.publish(7, csv, { resultBytesMax: 5000 });
  const whole = await service.publish(7, csv);
  const page = await open(`/executions/${truncated.id}?tab=code`);
  const answered = async () => {
    const code = await page.locator('.code pre').innerText();
    const { stdout } = await run('sh', ['-c', `${code} -s`], { env: { ...process.env, QRS_KEY: service.key } });
    return JSON.parse(stdout);
  };
  const { state, result } = await answered();
  assert.equal(state, 'QUERY_STATE_COMPLETED_PARTIAL');
  assert.deepEqual(result.rows, rows.slice(0, result.metadata.total_row_count));
  await page.getByText('All rows and columns').waitFor();
  await page.goto(`${service.url}/executions/${whole.id}?tab=code&since=${truncated.id}&key=n`);
  assert.equal((await answered()).result.metadata.diff.unchanged, result.metadata.total_row_count);
  assert.deepEqual(complaints, []);
});
