/** The rows of the curated datasets: a schema for each, and a row as an example, from the declared columns. */
import { columnSchema } from './column-schema.ts';
import type { DatasetDescription, Fragment } from './schema.ts';

/** The name of a dataset's schemas: `operator-stats` → `OperatorStats`. */
export function schemaNameOf(dataset: DatasetDescription): string {
  return dataset.name
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** No column is required, because `columns` may leave out any. */
export function rowSchemaOf(dataset: DatasetDescription): Fragment {
  return {
    type: 'object',
    description: `A row of the dataset ${dataset.name}. With \`columns\`, only those asked for, in that order.`,
    properties: Object.fromEntries(
      dataset.columns.map(({ name, type }) => [name, describedColumn(dataset, name, columnSchema(type))]),
    ),
    additionalProperties: false,
    examples: [exampleRowOf(dataset)],
  };
}

/** The first columns show how values look; the others are like them. */
const EXAMPLE_COLUMNS_MAX = 8;

function exampleRowOf(dataset: DatasetDescription): Fragment {
  const columns = dataset.columns.slice(0, EXAMPLE_COLUMNS_MAX);
  return Object.fromEntries(columns.map(({ name }) => [name, dataset.meanings[name]?.example ?? null]));
}

function describedColumn(dataset: DatasetDescription, name: string, schema: Fragment): Fragment {
  const meaning = dataset.meanings[name];
  if (meaning === undefined) return schema;
  const { about, values } = meaning;
  return { ...schema, description: `${about}.`, ...(values !== undefined && { enum: values }) };
}
