import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogAdvice, folderFailure, listenFailure } from './startup-error.ts';

const system = (code: string) => Object.assign(new Error(`${code}: as the system says it`), { code });
const sqlite = (errcode: number) =>
  Object.assign(new Error('as SQLite says it'), { code: 'ERR_SQLITE_ERROR', errcode });
const text = (error: unknown) => (error instanceof Error ? error.message : error);

test('an address that cannot be used: one line that says what to do', () => {
  const lines: Readonly<Record<string, string>> = {
    EADDRINUSE: 'port 80 is taken by another program; stop it or set QRS_PORT',
    EACCES: 'port 80 needs more rights than this user has; set QRS_PORT to 1024 or above',
    EADDRNOTAVAIL: 'this machine does not have the address box; set QRS_HOST (0.0.0.0 is every interface)',
    ENOTFOUND: 'the host name box is not known; set QRS_HOST to an address of this machine',
    EWHATEVER: 'EWHATEVER: as the system says it',
  };
  for (const [code, line] of Object.entries(lines)) {
    assert.equal(text(listenFailure(system(code), 'box', 80)), line);
  }
});

test('a folder that cannot be used', () => {
  const lines: Readonly<Record<string, string>> = {
    EACCES: 'this user may not write to /srv; give it the right to, or set QRS_DATA_DIR (EACCES)',
    EROFS: '/srv is on a disk that is mounted read-only; mount it writable, or set QRS_DATA_DIR (EROFS)',
    ENOSPC: 'the disk of /srv is full; free some space, or set QRS_DATA_DIR (ENOSPC)',
    ENOTDIR: '/srv is not a folder, or lies in something that is none; remove it, or set QRS_DATA_DIR (ENOTDIR)',
    ENOLINK:
      '/srv is a link to a folder that is not there, or lies in one; mount its disk or mend the link, or set QRS_DATA_DIR (ENOLINK)',
    EWHATEVER: 'EWHATEVER: as the system says it',
  };
  for (const [code, line] of Object.entries(lines)) {
    assert.equal(text(folderFailure(system(code), '/srv', 'QRS_DATA_DIR')), line);
  }
});

test("a catalog that cannot be written, also with SQLite's extended codes", () => {
  assert.match(catalogAdvice(sqlite(8)), /writable for this user/);
  assert.match(catalogAdvice(sqlite(8 | (1 << 8))), /writable for this user/);
  assert.match(catalogAdvice(sqlite(13)), /free some space/);
  assert.match(catalogAdvice(sqlite(10)), /on a local disk/);
  assert.equal(catalogAdvice(sqlite(10), 4096), '; its disk is full: free some space');
  assert.equal(
    catalogAdvice(sqlite(11)),
    '; move it and what lies beside it with the endings -wal and -shm out of the way, and restore it from a backup',
  );
  assert.equal(catalogAdvice(sqlite(26)), '');
  assert.equal(catalogAdvice(new Error('no code')), '');
});
