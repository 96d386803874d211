/**
 * The log line of a request, put together by hand: it is written for every request, and pino takes 7 µs for it where this takes
 * one. Only what cannot hold a character that JSON escapes goes in as it is: ids, methods, routes, codes and numbers.
 */
import type { AnsweredRequest } from './observation.ts';

export function requestLine(request: AnsweredRequest, level: string): string {
  const { tally, keyId, route } = request;
  const endedAt = new Date(request.startedAt + request.millis).toISOString();
  let line = `{"level":"${level}","time":"${endedAt}","request_id":"${request.requestId}"`;
  if (keyId !== undefined) line += `,"key_id":"${keyId}"`;
  line += `,"method":"${request.method}"`;
  if (route !== undefined) line += `,"route":"${route}"`;
  line += `,"status":${request.status}`;
  if (tally.errorCode !== undefined) line += `,"error_code":"${tally.errorCode}"`;
  line += `,"millis":${rounded(request.millis)}`;
  if (tally.stageMillis.size > 0) line += `,"stages":{${stages(tally.stageMillis)}}`;
  if (tally.executionId !== undefined) line += `,"execution_id":"${tally.executionId}","query_id":${tally.queryId}`;
  line += `,"rows":${tally.rowCount},"cell_bytes":${tally.cellBytes},"datapoints":${tally.datapoints}`;
  line += `,"bytes":${tally.bodyBytes}`;
  if (tally.cache !== undefined) line += `,"cache":"${tally.cache}"`;
  return `${line},"aborted":${request.aborted},"message":"request"}\n`;
}

function stages(stageMillis: ReadonlyMap<string, number>): string {
  let text = '';
  for (const [name, millis] of stageMillis) text += `${text === '' ? '' : ','}"${name}":${rounded(millis)}`;
  return text;
}

/** To a microsecond. */
function rounded(millis: number): number {
  return Math.round(millis * 1000) / 1000;
}
