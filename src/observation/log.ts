/**
 * The log: one line of JSON for everything observed that is worth one. Of a request: who asked (the id of the key), for what (the route,
 * never the address), what came of it and what it cost. A key is never in the log: no field holds one, and where one got into a text all
 * the same (an error's message, an id that the client chose) it is taken out.
 */
import { pino } from 'pino';
import { withoutKeys } from '../domain/key.ts';
import type { WebhookAttempt } from '../domain/webhook.ts';
import type { RunEvent } from '../runs/run-claimed.ts';
import type { AnsweredRequest, Observation, Observe } from './observation.ts';
import { requestLine } from './request-line.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

type Line = { readonly level: Exclude<LogLevel, 'silent'>; readonly message: string; readonly facts: object };

/**
 * @param writeLines takes lines that end with a line break
 * @param replica named in each line: letters, digits, dots, dashes and underscores
 */
export function logTo(writeLines: (lines: string) => void, level: LogLevel, replica?: string): Observe {
  const write = (lines: string) => writeLines(withoutKeys(lines));
  const log = pino(
    {
      level,
      base: replica === undefined ? null : { replica },
      messageKey: 'message',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return (observation) => {
    if (observation.kind === 'answered') {
      const own = requestLevel(observation);
      if (log.isLevelEnabled(own)) write(requestLine(observation, own, replica));
      return;
    }
    const { level: own, message, facts } = lineOf(observation);
    log[own](facts, message);
  };
}

/** Probes and scrapes come every few seconds and say nothing; errors of the service are faults besides. */
function requestLevel({ keyId, status }: AnsweredRequest): Line['level'] {
  return keyId === undefined && status < 400 ? 'debug' : 'info';
}

function lineOf(observation: Exclude<Observation, AnsweredRequest>): Line {
  switch (observation.kind) {
    case 'listening':
      return { level: 'info', message: 'listening', facts: { url: observation.url } };
    case 'stopping':
      return { level: 'info', message: 'stopping', facts: { under_way: observation.inFlight } };
    case 'stopped':
      return { level: observation.cut > 0 ? 'warn' : 'info', message: 'stopped', facts: { cut: observation.cut } };
    case 'fault': {
      const { what, requestId, error } = observation;
      return { level: 'error', message: what ?? 'fault', facts: { request_id: requestId, error: asError(error) } };
    }
    case 'usage_written':
      return { level: 'debug', message: 'usage written', facts: { rows: observation.uses } };
    case 'usage_not_written':
      return {
        level: 'error',
        message: 'usage could not be written and is kept for the next try',
        facts: { error: asError(observation.error) },
      };
    case 'run':
      return runLine(observation.event);
    case 'datasets_without_sources':
      return {
        level: 'info',
        message: 'no source tables for these datasets: they are refreshed once there are some',
        facts: { datasets: observation.datasets, directory: observation.directory },
      };
    case 'dataset_refused':
      return { level: 'error', message: `dataset not served: ${observation.refusal}`, facts: {} };
    case 'clock_jumped':
      return { level: 'warn', message: observation.about, facts: {} };
    case 'result_missing': {
      const message = 'parts of a result are missing from the store: as the latest run of its query it is passed over';
      return { level: 'error', message, facts: { execution_id: observation.executionId } };
    }
    case 'result_restored':
      return {
        level: 'info',
        message: 'no part of a result is missing any more',
        facts: { execution_id: observation.executionId },
      };
    case 'worker_ended': {
      const message = `worker ${observation.index} ended (${observation.why}); another takes its place`;
      return { level: 'error', message, facts: { pause_millis: observation.pauseMillis } };
    }
    case 'row_files_built':
    case 'row_files_failed':
    case 'row_files_refused':
    case 'row_file_damaged':
    case 'index_refused':
    case 'index_built':
    case 'index_failed':
    case 'index_damaged':
    case 'bloom_filters_unreadable':
      return derivedLine(observation);
    case 'webhook':
      return webhookLine(observation.attempt);
    case 'sweep_stopped':
      return { level: 'warn', message: `sweep stopped: ${observation.reason}`, facts: {} };
    case 'swept':
      return sweptLine(observation);
    default:
      return observation satisfies never;
  }
}

function sweptLine({ expired, orphans, bytes }: Extract<Observation, { readonly kind: 'swept' }>): Line {
  // Most sweeps find nothing.
  return { level: expired + orphans > 0 ? 'info' : 'debug', message: 'swept', facts: { expired, orphans, bytes } };
}

/** Without where it went: an address may hold a secret. */
function webhookLine({ outcome, webhookId, eventId, error }: WebhookAttempt): Line {
  const facts = { webhook_id: webhookId, event_id: eventId, ...(error !== undefined && { why: error }) };
  switch (outcome) {
    case 'delivered':
      return { level: 'debug', message: 'webhook delivered', facts };
    case 'failed':
      return { level: 'info', message: 'webhook not delivered, and tried again later', facts };
    case 'given_up':
      return { level: 'warn', message: 'webhook not delivered, and given up', facts };
    default:
      return outcome satisfies never;
  }
}

type DerivedObservation = Extract<
  Observation,
  { readonly kind: `row_file${string}` | `index_${string}` | 'bloom_filters_unreadable' }
>;

function derivedLine(observation: DerivedObservation): Line {
  switch (observation.kind) {
    case 'row_files_built': {
      const { executionId, files, bytes, millis } = observation;
      const facts = { execution_id: executionId, files, bytes, millis: Math.round(millis) };
      return { level: 'debug', message: 'row files built', facts };
    }
    case 'row_files_failed':
    case 'row_file_damaged': {
      const { kind, executionId, error } = observation;
      const damaged = 'a row file is damaged and was removed: its rows are read from the stored part';
      const message = kind === 'row_file_damaged' ? damaged : 'row files could not be built: rows are read as before';
      return { level: 'warn', message, facts: { execution_id: executionId, error: asError(error) } };
    }
    case 'row_files_refused':
    case 'index_refused': {
      const { kind, executionId, why } = observation;
      const what = kind === 'index_refused' ? 'an index is not made: rows are searched' : 'row files are not made';
      return { level: 'info', message: `${what}, for good`, facts: { execution_id: executionId, why } };
    }
    case 'index_built': {
      const { executionId, column, bytes, millis } = observation;
      const facts = { execution_id: executionId, column, bytes, millis: Math.round(millis) };
      return { level: 'debug', message: 'index built', facts };
    }
    case 'index_failed':
    case 'index_damaged': {
      const { kind, executionId, error } = observation;
      const damaged = 'an index is damaged and was removed: rows are searched without it';
      const message =
        kind === 'index_damaged' ? damaged : 'an index could not be built or read: rows are searched as before';
      return { level: 'warn', message, facts: { execution_id: executionId, error: asError(error) } };
    }
    case 'bloom_filters_unreadable': {
      const message = 'Bloom filters of a part are missing, damaged or could not be read: it is searched without them';
      return {
        level: 'warn',
        message,
        facts: { execution_id: observation.executionId, error: asError(observation.error) },
      };
    }
    default:
      return observation satisfies never;
  }
}

function runLine(event: RunEvent): Line {
  const { executionId, queryId, dataset } = event;
  const facts = { execution_id: executionId, query_id: queryId, dataset };
  switch (event.kind) {
    case 'started':
      return event.claims === 1
        ? { level: 'info', message: 'run started', facts }
        : {
            level: 'warn',
            message: 'run taken over from a process that is gone',
            facts: { ...facts, claims: event.claims },
          };
    case 'completed':
      return {
        level: 'info',
        message: 'run completed',
        facts: { ...facts, rows: event.rowCount, millis: event.millis },
      };
    case 'failed': {
      const { type } = event.error;
      // Most failures are the SQL's, and told to who asked for the run; for a dataset nobody did.
      const isOurs =
        dataset !== undefined || type === 'internal_error' || type === 'engine_error' || type === 'storage_full';
      const error = isOurs ? { error: asError(event.cause) } : {};
      return {
        level: isOurs ? 'error' : 'info',
        message: `run failed: ${type}`,
        facts: { ...facts, error_type: type, ...error },
      };
    }
    case 'cancelled':
      return { level: 'info', message: 'run cancelled', facts };
    case 'given_back':
      return { level: 'info', message: 'run given back to the queue', facts };
    case 'lost':
      return { level: 'warn', message: 'run taken over by another process', facts };
    default:
      return event satisfies never;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
