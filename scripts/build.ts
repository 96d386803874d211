/** Builds the package: JavaScript and types into dist/ (Node strips no types below node_modules), and the SQL beside them. */
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], { stdio: 'inherit' });
if (status !== 0) process.exit(1);
cpSync(join(root, 'src', 'datasets'), join(root, 'dist', 'datasets'), {
  recursive: true,
  filter: (path) => !basename(path).includes('.') || path.endsWith('.sql'),
});
