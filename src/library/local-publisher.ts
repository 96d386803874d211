/** A publisher that works directly on the data directory, whether or not a service is running on it. */
import type { Executions } from '../catalog/catalog.ts';
import { type PublisherEffects, publishArguments } from '../compose/publishing.ts';
import { openService, type ServiceEffects } from '../compose/service.ts';
import type { Execution } from '../domain/execution.ts';
import { publish } from '../publishing/publish.ts';
import type { Settings } from '../settings/settings.ts';
import { checkedError, checkedParameters, checkedTypes, requireNewRun } from './checked-input.ts';
import type { Failure, Publication, Publisher, Submission } from './publication.ts';

export type LocalEffects = ServiceEffects & PublisherEffects;

/** @throws StartupError when the data directory cannot be used */
export async function openLocalPublisher(settings: Settings, effects: LocalEffects): Promise<Publisher> {
  const { clock, sleep, monotonic, ...publisherEffects } = effects;
  const service = await openService(settings, { clock, sleep, monotonic });
  const executions = async (): Promise<Executions> => (await service.catalog()).executions;
  return {
    async publish({ types, signal, onProgress, ...request }: Publication) {
      checkedParameters(request.parameters);
      requireNewRun(request);
      const parsed = checkedTypes(types);
      const { dependencies, options } = await publishArguments(service, publisherEffects);
      const never = new AbortController().signal;
      return await publish(dependencies, { ...request, types: parsed }, options, signal ?? never, onProgress);
    },
    async submit({ queryId, parameters: given }: Submission) {
      const parameters = checkedParameters(given);
      const execution: Execution = {
        id: effects.newId(),
        queryId,
        parameters,
        state: 'PENDING',
        submittedAt: clock(),
      };
      await (await executions()).add(execution);
      return execution;
    },
    start: async (id: string) => await (await executions()).start(id, clock()),
    fail: async (id: string, failure: Failure) => await (await executions()).fail(id, checkedError(failure), clock()),
    cancel: async (id: string) => await (await executions()).cancel(id, clock()),
    [Symbol.asyncDispose]: async () => await service[Symbol.asyncDispose](),
  };
}
