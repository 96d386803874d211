/**
 * A client that asks as fast as it is answered: a process of its own, a number of connections, one request at a time on each, for a given
 * time. It uses plain sockets and reads no more of a head than the length. A full HTTP client takes as much of a core as the service
 * does, and would itself be measured. load.ts starts it.
 */
import { connect } from 'node:net';
import type { Load, LoadOptions } from './load.ts';
import { quantile } from './measure.ts';

const options: LoadOptions = JSON.parse(process.argv[2] ?? '{}');
const { hostname, port } = new URL(options.url);
const HEAD_END = Buffer.from('\r\n\r\n');

const millis: number[] = [];
const statuses: Record<string, number> = {};
let bytes = 0;
let asked = 0;
let counting = false;

const headers = Object.entries({ host: `${hostname}:${port}`, ...options.headers })
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');
const requestText = () => {
  const offset = (options.firstOffset + asked * options.offsetStep) % options.offsetModulo;
  asked += 1;
  return `GET ${options.path.replace('OFFSET', String(offset))} HTTP/1.1\r\n${headers}\r\n`;
};

const warmUp = setTimeout(() => {
  counting = true;
}, options.warmUpMillis);
let stopping = false;
const start = performance.now() + options.warmUpMillis;
const stop = setTimeout(() => {
  stopping = true;
}, options.warmUpMillis + options.millis);
await Promise.all(Array.from({ length: options.connections }, oneConnection));
clearTimeout(warmUp);
clearTimeout(stop);
const seconds = (performance.now() - start) / 1000;
const result: Load = {
  perSecond: millis.length / seconds,
  p50: quantile(millis, 0.5),
  p95: quantile(millis, 0.95),
  p99: quantile(millis, 0.99),
  requests: millis.length,
  megabytesPerSecond: bytes / seconds / 1e6,
  statuses,
};
process.stdout.write(JSON.stringify(result));

function oneConnection(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let head = Buffer.alloc(0);
    let left: number | undefined;
    let sentAt = 0;
    const ask = () => {
      if (stopping) {
        socket.destroy();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(requestText());
    };
    const answered = () => {
      if (counting && !stopping) millis.push(performance.now() - sentAt);
      left = undefined;
      head = Buffer.alloc(0);
      ask();
    };
    socket.once('connect', ask);
    socket.once('error', reject);
    socket.once('close', () => (stopping ? resolve() : reject(new Error('the connection was closed'))));
    socket.on('data', (chunk) => {
      if (counting && !stopping) bytes += chunk.byteLength;
      if (left !== undefined) {
        left -= chunk.byteLength;
      } else {
        head = head.byteLength === 0 ? chunk : Buffer.concat([head, chunk]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const text = head.toString('latin1', 0, end);
        const status = text.slice(9, 12);
        statuses[status] = (statuses[status] ?? 0) + 1;
        const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
        if (length === undefined && status !== '304') {
          reject(new Error(`an answer without a length: ${text}`));
          socket.destroy();
          return;
        }
        left = Number(length ?? 0) - (head.byteLength - end - HEAD_END.byteLength);
      }
      if (left === 0) answered();
    });
  });
}
