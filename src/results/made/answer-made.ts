/**
 * Answers with rows that are made of stored results: the difference of two, or what a share shows of one. They are made once, as parts beside
 * the views, and then read as a result is, so that pages, filters, orders, samples and formats are those of every answer.
 */
import type { Execution } from '../../domain/execution.ts';
import type { Column } from '../../domain/result-set.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { answerPlanned, planned } from '../answer-planned.ts';
import type { ResultsDeps } from '../deps.ts';
import type { OpenView } from '../derived/views/view-cache.ts';
import { answerFromFile, answerFromMemory, identified } from '../identified.ts';
import type { ReadDeps } from '../read/open-page.ts';
import { releaseAfter } from '../read/page.ts';
import type { ResultsRequest } from '../request/results-request.ts';

/** Rows that can be made. */
export interface MadeRows {
  readonly columns: readonly Column[];
  /** Makes them, unless they are there. @throws RequestError; the signal's reason */
  open(signal: AbortSignal): Promise<OpenView>;
  /** What `metadata` says besides. */
  readonly toldOf?: (opened: OpenView) => object;
}

export interface MadeRequest {
  readonly request: ResultsRequest;
  /** What the envelope says. */
  readonly execution: Execution;
  /** Tells these rows from others that are made of the execution. */
  readonly name: string;
  /** Called unless the answer is in memory. @throws RequestError */
  readonly rows: () => Promise<MadeRows>;
  readonly keyId: string;
  /** Further headers of the answer. */
  readonly headers?: Answer['headers'];
}

/** The sweep deletes results only: rows that were made of them need no lease. */
const NO_LEASES: ReadDeps['leases'] = {
  hold: async () => new AsyncDisposableStack(),
  async *during(_, chunks) {
    yield* chunks;
  },
};

/** @throws RequestError */
export async function answerMade(
  { request, execution, name, rows, keyId, headers = {} }: MadeRequest,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const asked = await identified(request, { execution }, { rowsName: name, headers }, deps, deps.clock());
  const kept = answerFromMemory(asked, deps.caches, stats) ?? (await answerFromFile(asked, deps, stats, signal));
  if (kept !== undefined) return kept;

  const { columns, open, toldOf } = await rows();
  // What is wrong with the request is told before anything is made.
  await planned(request, { columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] }, deps);
  using opened = await stats.stage('make', deps.monotonic, () => open(signal));
  const { resultSet, identity: rowsOf } = opened;
  const plan = await planned(request, resultSet, deps);
  const metadata = toldOf?.(opened) ?? {};
  const ofMade = { ...deps, read: readDepsOf(deps.read) };
  const answer = await answerPlanned(asked, { resultSet, plan, rowsOf, metadata, keyId }, ofMade, stats, signal);
  return heldWhileSent(answer, opened);
}

/** Reads the made rows. For them there are no row files and no indexes. */
function readDepsOf(read: ReadDeps): ReadDeps {
  return {
    ...read,
    store: { open: async (part) => await read.views.openPart(part), prefetch: async () => undefined },
    rowFiles: { ofResult: () => undefined, ofView: () => undefined },
    indexes: { ask: async () => undefined },
    leases: NO_LEASES,
  };
}

/** Keeps the rows until the last byte, where the answer is sent while it is read. */
function heldWhileSent(answer: Answer, opened: OpenView): Answer {
  const { body } = answer;
  if (body.kind !== 'stream' && body.kind !== 'partial') return answer;
  const held = opened.hold();
  const chunks = releaseAfter({ release: () => held?.[Symbol.dispose]() }, body.chunks);
  return { ...answer, body: { ...body, chunks } };
}
