/** All routes that change something, and those that only administrators may read. */
import type { FastifyInstance } from 'fastify';
import { shareViews } from '../sharing/share-views.ts';
import { type ShareWritesDeps, shareWrites } from '../sharing/share-writes.ts';
import { type ExecutionWritesDeps, executionWrites } from './execution-writes.ts';
import type { IdempotencyDeps } from './idempotency.ts';
import { principalViews } from './principal-views.ts';
import { type PrincipalWritesDeps, principalWrites } from './principal-writes.ts';
import { type QueryWritesDeps, queryWrites } from './query-writes.ts';
import { type RunWritesDeps, runWrites } from './run-writes.ts';
import { type UploadWritesDeps, uploadWrites } from './upload-writes.ts';
import { webhookViews } from './webhook-views.ts';
import { type WebhookWritesDeps, webhookWrites } from './webhook-writes.ts';
import { type WriteRoutesOptions, writeRoutes } from './write-routes.ts';

export type WritingDeps = IdempotencyDeps &
  QueryWritesDeps &
  ExecutionWritesDeps &
  PrincipalWritesDeps &
  ShareWritesDeps &
  RunWritesDeps &
  UploadWritesDeps &
  WebhookWritesDeps;

export function writing(server: FastifyInstance, prefix: string, deps: WritingDeps, options: WriteRoutesOptions): void {
  const register = writeRoutes(server, prefix, deps, options);
  const routes = [
    queryWrites,
    executionWrites,
    runWrites,
    uploadWrites,
    shareWrites,
    principalWrites,
    webhookWrites,
  ].flatMap((writes) => writes(deps));
  for (const route of routes) register(route);
  shareViews(server, prefix, deps, options.publicUrl);
  principalViews(server, prefix, deps.catalog.principals, options.publicUrl);
  webhookViews(server, prefix, deps.catalog.webhooks, options.publicUrl);
}
