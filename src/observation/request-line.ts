/**
 * The log line of a request, put together by hand: it is written for every request, and pino takes 7 µs for it where this takes
 * one. Only what cannot hold a character that JSON escapes goes in as it is: ids, names, methods, routes, codes and numbers.
 */
import type { AnsweredRequest } from './observation.ts';

export function requestLine(request: AnsweredRequest, level: string, replica?: string): string {
  const { stats, keyId, route } = request;
  const endedAt = new Date(request.startedAt + request.millis).toISOString();
  let line = `{"level":"${level}","time":"${endedAt}"`;
  if (replica !== undefined) line += `,"replica":"${replica}"`;
  line += `,"request_id":"${request.requestId}"`;
  if (keyId !== undefined) line += `,"key_id":"${keyId}"`;
  line += `,"method":"${request.method}"`;
  if (route !== undefined) line += `,"route":"${route}"`;
  line += `,"status":${request.status}`;
  if (stats.errorCode !== undefined) line += `,"error_code":"${stats.errorCode}"`;
  line += `,"millis":${rounded(request.millis)}`;
  if (stats.stageMillis.size > 0) line += `,"stages":{${stages(stats.stageMillis)}}`;
  if (stats.executionId !== undefined) line += `,"execution_id":"${stats.executionId}","query_id":${stats.queryId}`;
  line += `,"rows":${stats.rowCount},"cell_bytes":${stats.cellBytes},"datapoints":${stats.datapoints}`;
  line += `,"bytes":${stats.bodyBytes}`;
  if (stats.cache !== undefined) line += `,"cache":"${stats.cache}"`;
  if (stats.way !== undefined) line += `,"way":"${stats.way}"`;
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
