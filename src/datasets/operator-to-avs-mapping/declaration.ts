/** Which operator is registered to which service, and since when (specification §2.7). */
import { columnsOf, type DatasetDeclaration } from '../dataset.ts';
import { PARTY_MEANINGS } from '../restaking/meanings.ts';
import { AVS_METADATA, OPERATOR_METADATA, REGISTRATIONS } from '../restaking/sources.ts';

export function declareOperatorToAvsMapping(): DatasetDeclaration {
  return {
    name: 'operator-to-avs-mapping',
    title: 'Which operator is registered to which actively validated service',
    path: '/v1/restaking/operator-to-avs-mapping',
    queryId: 990_000_004,
    schedule: '*/15 * * * *',
    columns: columnsOf({
      avs_contract_address: 'varchar',
      avs_name: 'varchar',
      avs_website: 'varchar',
      operator_contract_address: 'varchar',
      operator_name: 'varchar',
      operator_website: 'varchar',
      registered_time: 'varchar',
    }),
    meanings: {
      ...PARTY_MEANINGS,
      avs_website: { about: 'Website of the AVS', example: 'https://avs.example.org' },
      operator_website: { about: 'Website of the operator', example: 'https://operator.example.org' },
      registered_time: { about: 'When the operator registered to the AVS', example: '2024-04-09 18:11:23.000 UTC' },
    },
    sources: [REGISTRATIONS, AVS_METADATA, OPERATOR_METADATA],
    sqlFile: new URL('./query.sql', import.meta.url),
    fragments: {
      registrations: new URL('../restaking/registrations.sql', import.meta.url),
      avs_profiles: new URL('../restaking/avs-profiles.sql', import.meta.url),
      operator_profiles: new URL('../restaking/operator-profiles.sql', import.meta.url),
    },
  };
}
