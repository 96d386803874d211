/** Looks for queries that have an id which is reserved for curated datasets: added before such ids were refused. */
import type { Catalog } from '../../catalog/catalog.ts';
import { isCurated } from '../../datasets/register.ts';
import type { Datasets } from '../../datasets/registry.ts';
import { isReservedQueryId, RESERVED_QUERY_IDS_FROM } from '../../datasets/reserved-ids.ts';
import type { Finding } from './finding.ts';

export async function examineQueryIds({ queries }: Pick<Catalog, 'queries'>, datasets: Datasets): Promise<Finding> {
  const check = 'query ids';
  const taken = (await queries.list()).filter((query) => isReservedQueryId(query.id) && !isCurated(query));
  if (taken.length === 0) return { check, status: 'ok', found: 'none that is reserved for datasets is taken' };
  const inTheWay = datasets.filter(({ queryId }) => taken.some(({ id }) => id === queryId));
  const ids = taken.map(({ id, owner }) => `${id} (${owner.kind} ${owner.name})`).join(', ');
  const names = inTheWay.map(({ name }) => name).join(', ');
  return {
    check,
    status: inTheWay.length > 0 ? 'wrong' : 'warning',
    found: `ids from ${RESERVED_QUERY_IDS_FROM} on are reserved for datasets; taken: ${ids}${names && `; not served: ${names}`}`,
    advice: 'publish to a query with a smaller id instead; what such a query has is served as long as it is kept',
  };
}
