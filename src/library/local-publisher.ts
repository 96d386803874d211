/** A publisher that works directly on the data directory. A service may be running on it or not. */
import type { Executions } from '../catalog/catalog.ts';
import { type PublisherEffects, publisherOf } from '../compose/publishing.ts';
import { openService, type ServiceEffects } from '../compose/service.ts';
import { type ColumnType, ColumnTypeError, parseColumnType } from '../domain/column-type.ts';
import type { Execution } from '../domain/execution.ts';
import { DEFAULT_ERROR_TYPE, executionErrorProblem, parametersProblem } from '../domain/run-input.ts';
import { publish } from '../publishing/publish.ts';
import { PublishError } from '../publishing/publish-error.ts';
import type { Settings } from '../settings/settings.ts';
import type { Failure, Publication, Publisher, Submission } from './publication.ts';

export type LocalEffects = ServiceEffects & PublisherEffects;

/** @throws StartupError when the data directory cannot be used */
export async function openLocalPublisher(settings: Settings, effects: LocalEffects): Promise<Publisher> {
  const { clock, sleep, ...publisherEffects } = effects;
  const service = await openService(settings, { clock, sleep });
  const executions = async (): Promise<Executions> => (await service.catalog()).executions;
  return {
    async publish({ types, signal, onProgress, ...request }: Publication) {
      refuse(parametersProblem(request.parameters ?? {}));
      if (request.executionId !== undefined && request.parameters !== undefined) {
        refuse('parameters are for a new run: the one of executionId has its own already');
      }
      const parsed = typesOf(types ?? {});
      const { dependencies, options } = await publisherOf(service, publisherEffects);
      const never = new AbortController().signal;
      return await publish(dependencies, { ...request, types: parsed }, options, signal ?? never, onProgress);
    },
    async submit({ queryId, parameters = {} }: Submission) {
      refuse(parametersProblem(parameters));
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
    async fail(id: string, { type = DEFAULT_ERROR_TYPE, ...failure }: Failure) {
      const error = { type, ...failure };
      refuse(executionErrorProblem(error));
      return await (await executions()).fail(id, error, clock());
    },
    cancel: async (id: string) => await (await executions()).cancel(id, clock()),
    [Symbol.asyncDispose]: async () => await service[Symbol.asyncDispose](),
  };
}

/** @throws ColumnTypeError naming the column */
function typesOf(types: Readonly<Record<string, string>>): ReadonlyMap<string, ColumnType> {
  const parsed = Object.entries(types).map(([name, type]) => {
    try {
      return [name, parseColumnType(type)] as const;
    } catch (error) {
      if (!(error instanceof ColumnTypeError)) throw error;
      throw new ColumnTypeError(`types, column ${JSON.stringify(name)}: ${error.message}`);
    }
  });
  return new Map(parsed);
}

/** @throws PublishError */
function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new PublishError(problem);
}
