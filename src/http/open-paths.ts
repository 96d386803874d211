/** Which addresses are answered without a key (contract §1): health, metrics, documentation, and the pages of the explorer. */
import type { FastifyRequest } from 'fastify';

const OPEN_PATHS: ReadonlySet<string> = new Set([
  '',
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/docs',
  '/llms.txt',
  '/usage',
]);

/** All addresses below these are open too. The pages of the explorer ask the API with the visitor's key. */
const OPEN_FOLDERS = ['/docs/', '/explorer/', '/queries/', '/executions/'];

/** Whether the request needs no key. */
export function isOpenPath({ method, url }: Pick<FastifyRequest, 'method' | 'url'>): boolean {
  const path = (url.split('?', 1)[0] ?? '').replace(/\/$/, '');
  const isOpen = OPEN_PATHS.has(path) || OPEN_FOLDERS.some((folder) => path.startsWith(folder));
  return isOpen && (method === 'GET' || method === 'HEAD');
}
