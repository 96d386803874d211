/** What `qrs serve --demo` prints: a key and requests to try, or how to get a key where the demo was made before. */
export interface Demo {
  readonly key: string;
  /** Whether the demo's own queries were published, or only the curated datasets. */
  readonly hasQueries: boolean;
}

/** @param demo undefined when the data directory was not empty: the key was shown when it was made, and only its hash is kept */
export function demoRequests(url: string, demo: Demo | undefined): string {
  if (demo === undefined) {
    return [
      `Serving what is in the data directory; to look at it in a browser: ${url}/`,
      'For a key:',
      `  npx qrs keys create --user demo     (or add a user first: npx qrs users add NAME)`,
    ].join('\n');
  }
  const curl = `curl -H 'X-Service-Api-Key: ${demo.key}'`;
  const ofQueries: readonly (readonly [string, string])[] = [
    ['A page of the latest run of query 1 as JSON', `${curl} '${url}/v1/query/1/results?limit=5'`],
    ['The next page: next_uri of the answer, or an offset', `${curl} '${url}/v1/query/1/results?limit=5&offset=5'`],
    ['CSV, as a spreadsheet would ask for it', `curl '${url}/v1/query/2/results/csv?limit=20&api_key=${demo.key}'`],
    ['Latest run, some columns', `${curl} '${url}/v1/query/3/results?limit=10&columns=Title,Director,"IMDB%20Rating"'`],
    ['A random sample of 3 million flights', `${curl} '${url}/v1/query/1/results?sample_count=5'`],
  ];
  const ofDatasets: readonly (readonly [string, string])[] = [
    [
      'A curated dataset: the largest services by what is locked in them',
      `${curl} '${url}/v1/restaking/avs-stats?limit=3&columns=avs_name,total_TVL,num_stakers'`,
    ],
  ];
  const ofFiles: readonly (readonly [string, string])[] = [
    ['A query of your own, for a result of your own', `${curl} '${url}/v1/query' -d '{"query_id":8,"name":"Prices"}'`],
    [
      'Publish a file as its result; then /v1/query/8/results has it',
      `printf 'chain,price\\nbase,1520.5\\n' > prices.csv && ${curl} -X POST -T prices.csv '${url}/v1/query/8/results'`,
    ],
  ];
  const sql =
    'SELECT strategy, max(rate) AS rate FROM restaking.strategy_exchange_rate WHERE rate >= {{floor}} GROUP BY strategy';
  const query = {
    query_id: 7,
    name: 'Rates',
    query_sql: sql,
    parameters: [{ key: 'floor', type: 'number', value: '1' }],
  };
  const ofRuns: readonly (readonly [string, string])[] = [
    [
      'A query that the service runs itself, over the source tables of the datasets',
      `${curl} '${url}/v1/query' -d '${JSON.stringify(query)}'`,
    ],
    [
      'Run it; the answer has the id of the run',
      `${curl} '${url}/v1/query/7/execute' -d '{"query_parameters":{"floor":1.01}}'`,
    ],
    ['Its rows, once the run has ended', `${curl} '${url}/v1/query/7/results'`],
  ];
  const requests = demo.hasQueries
    ? [...ofQueries, ...ofDatasets, ...ofFiles, ...ofRuns]
    : [...ofDatasets, ...ofFiles, ...ofRuns];
  return [
    '',
    `Look at it in a browser: ${url}/#key=${demo.key}`,
    '',
    `Your key (shown only this once): ${demo.key}`,
    '',
    ...requests.flatMap(([what, command]) => [`# ${what}`, command, '']),
  ].join('\n');
}
