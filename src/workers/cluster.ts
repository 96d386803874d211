/** Workers by `node:cluster`: the supervisor accepts the connections of one address and hands them to the workers in turn. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { FromSupervisor, FromWorker, SupervisorChannel, WorkerProcess } from './messages.ts';

/** The channel to this process's supervisor; undefined when this process is no worker. */
export function supervisorChannel(self: NodeJS.Process): SupervisorChannel | undefined {
  if (cluster.worker === undefined) return undefined;
  // At start the program unrefs every channel, so that none keeps it alive. This one must.
  self.channel?.ref();
  return {
    gone: new Promise((resolve) => self.once('disconnect', resolve)),
    [Symbol.dispose]: () => self.channel?.unref(),
    send: (message) => {
      // The supervisor may be gone, or go before it has read this. Then this process is about to end, too.
      if (self.connected) self.send?.(message, undefined, undefined, () => undefined);
    },
    onMessage: (listener) => self.on('message', (message) => listener(message as FromSupervisor)),
  };
}

/** @returns starts this program again with these arguments, as a worker; where that fails, the worker has ended */
export function forkWith(args: readonly string[]): () => WorkerProcess {
  cluster.setupPrimary({ args: [...args] });
  return () => {
    try {
      return workerProcess(cluster.fork());
    } catch (error) {
      const nothing = () => undefined;
      return {
        send: nothing,
        onMessage: nothing,
        stop: nothing,
        kill: nothing,
        ended: Promise.resolve(notStarted(error)),
      };
    }
  };
}

function workerProcess(worker: Worker): WorkerProcess {
  cutWhatDoesNotArrive(worker);
  return {
    send: (message) => {
      // The worker may end before it has read this; the sender does not care.
      if (worker.isConnected()) worker.send(message, () => undefined);
    },
    onMessage: (listener) => worker.on('message', (message) => listener(message as FromWorker)),
    stop: () => worker.process.kill('SIGTERM'),
    kill: () => worker.process.kill('SIGKILL'),
    ended: once(worker, 'exit').then(
      ([code, signal]) => (signal === null ? `exit code ${code}` : String(signal)),
      notStarted,
    ),
  };
}

/**
 * Cuts connections that were sent to a worker and that it had not taken when it died. `node:cluster` waits for its word, which never comes, and
 * keeps them open: their clients would wait for ever.
 */
function cutWhatDoesNotArrive({ process: child }: Worker): void {
  const notTaken = new Map<unknown, { close(): void }>();
  const send = child.send.bind(child) as (message: object, ...more: unknown[]) => boolean;
  const noting = (message: object, ...more: unknown[]) => {
    const [connection] = more;
    // Messages of ours come without one.
    if (isConnection(connection) && 'seq' in message) notTaken.set(message.seq, connection);
    return send(message, ...more);
  };
  Object.assign(child, { send: noting });
  child.on('internalMessage', ({ ack }: { readonly ack?: unknown }) => notTaken.delete(ack));
  // By then all that it has said was heard.
  child.once('close', () => {
    for (const connection of notTaken.values()) connection.close();
  });
}

function isConnection(sent: unknown): sent is { close(): void } {
  return typeof sent === 'object' && sent !== null && 'close' in sent && typeof sent.close === 'function';
}

/** Why there is no process where there ought to be one: there are too many, memory is short, or the program is being replaced. */
function notStarted(error: unknown): string {
  return `it could not be started: ${error instanceof Error ? error.message : error}`;
}
