/** Stages 5 to 7 of a request whose answer is text: JSON, NDJSON or CSV. */
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import { keepPage } from './cache/finished-pages.ts';
import type { ResultsDeps } from './deps.ts';
import type { IdentifiedRequest } from './identified.ts';
import { planRead } from './plan/read-plan.ts';
import { lightOnly } from './read/light-reads.ts';
import { openPage } from './read/open-page.ts';
import type { TextFormat } from './request/format.ts';
import { parseSharedParameters } from './request/results-request.ts';
import { etagOf, matchesEtag } from './respond/cache-policy.ts';
import { respondUnchanged } from './respond/envelope-answer.ts';
import type { NextPage } from './respond/next-page.ts';
import type { ParquetRequest } from './respond/parquet.ts';
import { respondLarge, type StreamRequest } from './respond/stream-answer.ts';
import {
  type FinishedAnswer,
  finishText,
  type OpenedAnswer,
  respondFinished,
  respondText,
  type TextRequest,
} from './respond/text.ts';

/** A request that has been planned, and all that is known of its answer. */
export type PlannedRequest = TextRequest & ParquetRequest & StreamRequest & Pick<IdentifiedRequest, 'identify'>;

type TextDeps = Pick<ResultsDeps, 'read' | 'caches' | 'monotonic' | 'settings'>;

/** Requests for the same page at the same time share one read. @throws RequestError */
export async function answerText(
  asked: PlannedRequest,
  format: TextFormat,
  deps: TextDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { read, caches, monotonic } = deps;
  const { known, cacheHeaders } = asked;
  const { ifNoneMatch } = asked.request;
  const timed = <T>(name: string, work: () => T | Promise<T>) => stats.stage(name, monotonic, work);
  if (known && matchesEtag(ifNoneMatch, known.etag)) return respondUnchanged(format, known.etag, cacheHeaders);
  const open = async (): Promise<OpenedAnswer> => {
    const ahead = known && (await timed('open', () => caches.ahead.take(known.identity, signal)));
    if (ahead !== undefined) {
      stats.cache = 'hit';
      if (ahead.way !== undefined) asked.tellWay(ahead.way);
      return ahead;
    }
    const page = await timed('open', () => openPage(asked, format, read, signal));
    const answer = respondText(asked, format, page);
    return page.small ? await timed('read', () => finishText(answer, signal)) : answer;
  };
  const { value: opened, isShared } =
    known === undefined
      ? { value: await open(), isShared: false }
      : await caches.opening.run(known.identity, signal, open, ({ kind }) => kind === 'finished');
  if (opened.kind === 'large') {
    return await respondLarge(asked, opened, { ...caches, leases: read.leases }, stats, signal);
  }
  const { next, readOn } = opened;
  if (next !== undefined) {
    // Asked now: once the page has been sent, its memory is given back, and its size reads as 0.
    const isLight = opened.isLight && caches.ahead.hasRoomFor(opened);
    caches.ahead.whenIdle(() => readAhead(asked, format, { next, isLight, readOn }, deps));
  }
  const isKept =
    known !== undefined && keepPage(caches, known.identity, { ...opened.page, etag: known.etag }, opened.isLight);
  const isOwn = !isKept && !isShared;
  return respondFinished({ ...opened.page, isOwn }, known?.etag, cacheHeaders, ifNoneMatch, stats);
}

/**
 * Reads ahead if the client walks: where DuckDB would read the next rows, has them encoded; where row files have them, begins to read the next
 * page.
 */
function readAhead(
  asked: PlannedRequest,
  format: TextFormat,
  { next: { parameters }, isLight, readOn }: Pick<FinishedAnswer, 'isLight' | 'readOn'> & { readonly next: NextPage },
  { read, caches, settings }: TextDeps,
): void {
  const { known, resultSet } = asked;
  if (known === undefined) return;
  const request = { ...asked.request, parameters };
  const identity = asked.identify(request);
  const isWalk = caches.ahead.noteAnswered(known.etag, etagOf(identity));
  if (isWalk) readOn?.();
  if (!isWalk || !isLight || caches.opening.has(identity) || caches.pages.get(identity) !== undefined) return;
  caches.ahead.begin(identity, async (signal) => {
    let way: string | undefined;
    const tellWay = (told: string) => {
      way = told;
    };
    const plan = planRead(parseSharedParameters(parameters), format, resultSet, settings);
    const following = { ...asked, request, plan, tellWay };
    const opened = await openPage(following, format, lightOnly(read), signal);
    const answer = await finishText(respondText(following, format, opened), signal);
    request.prepareNext?.(answer.page.byteChunks, etagOf(identity));
    return { ...answer, way };
  });
}
