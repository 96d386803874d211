/** What clients reach: one address, from which requests go to the replicas in turn. */
import { HAPROXY, startHaproxy } from './haproxy.ts';
import { startRoundRobin } from './round-robin.ts';

export interface Front extends AsyncDisposable {
  readonly url: string;
  /** For people. */
  readonly program: string;
}

/** HAProxy where it is installed, else a proxy of our own that does as much of it as tests need. @param folder for its files */
export async function startFront(ports: readonly number[], folder: string): Promise<Front> {
  return HAPROXY === undefined ? await startRoundRobin(ports) : await startHaproxy(HAPROXY, ports, folder);
}
