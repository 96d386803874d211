/** Checks a producer's input before any work begins. Both kinds of publisher use it, so their errors are the same. */
import { type ColumnType, ColumnTypeError, parseColumnType } from '../domain/column-type.ts';
import type { ExecutionError } from '../domain/execution.ts';
import { DEFAULT_ERROR_TYPE, executionErrorProblem, parametersProblem } from '../domain/run-input.ts';
import { PublishError } from '../publishing/publish-error.ts';
import type { Failure, Publication } from './publication.ts';

type Texts = Readonly<Record<string, string>>;

/** @throws PublishError */
export function checkedParameters(parameters: Texts = {}): Texts {
  refuse(parametersProblem(parameters));
  return parameters;
}

/** @throws PublishError for parameters of a run that was begun before */
export function requireNewRun({ executionId, parameters }: Pick<Publication, 'executionId' | 'parameters'>): void {
  if (executionId === undefined || parameters === undefined) return;
  refuse('parameters are for a new run: the one of executionId has its own already');
}

/** @throws PublishError */
export function checkedError({ type = DEFAULT_ERROR_TYPE, ...failure }: Failure): ExecutionError {
  const error = { type, ...failure };
  refuse(executionErrorProblem(error));
  return error;
}

/** @throws ColumnTypeError naming the column */
export function checkedTypes(types: Texts = {}): ReadonlyMap<string, ColumnType> {
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

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new PublishError(problem);
}
