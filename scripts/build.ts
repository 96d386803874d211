/** Builds the package: JavaScript and types into dist/ (Node strips no types below node_modules), and beside them the SQL and the explorer's files. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { bundle } from '../web/build/bundle.ts';

const root = join(import.meta.dirname, '..');
rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
if (status !== 0) process.exit(1);
const web = join(root, 'dist', 'web');
mkdirSync(web, { recursive: true });
for (const { name, bytes } of await bundle()) writeFileSync(join(web, name), bytes);
cpSync(join(root, 'src', 'datasets'), join(root, 'dist', 'datasets'), {
  recursive: true,
  filter: (path) => !basename(path).includes('.') || path.endsWith('.sql'),
});
