/** The library runs on its caller's Node. Versions before this one lack parts of node:sqlite and zlib. */
import { StartupError } from '../errors/startup-error.ts';

const NODE_MIN = [22, 16] as const;

/** @param version as `process.versions.node` has it. @throws StartupError for a Node that is too old */
export function requireNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  throw new StartupError(`openPublisher needs Node ${NODE_MIN.join('.')} or later, and this is Node ${version}`);
}
