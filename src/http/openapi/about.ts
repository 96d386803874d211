/** What the description of the API says in words, for people and for programs that read it. */

/** The language of filters and sorts in short. */
export const FILTERS_ABOUT = `\`filters\` is a condition as in an SQL \`WHERE\`: \`and\`, \`or\`, \`not\`, parentheses; \`= != < <= > >=\`, \`[not] in (…)\`,
\`[not] like\` (\`ilike\`: whatever the case), \`[not] between … and …\`, \`is [not] null\`, and \`contains(column, value)\` for arrays. Texts and times have
single quotes (\`'base'\`, \`'2024-03-05 15:00'\`, UTC); column names that have blanks or other special characters have double quotes
(\`"IMDB Rating" > 8\`). Nothing is calculated: there are no functions. \`sort_by\` is \`column [asc|desc] [nulls first|last]\`, separated by commas.`;

export const ABOUT = `Stored results of query executions, as JSON, NDJSON, CSV or Parquet: filtered, sorted, paged or sampled.

**Key.** Every request under \`/v1\` carries an API key, in a header or as the query parameter \`api_key\`; the header wins.

**Filters.** ${FILTERS_ABOUT}

**Paging.** A page has at most \`limit\` rows and ends at the datapoint limit at the latest. \`next_uri\`, and the header \`Link\`, is
the address of the next page; where it is absent, there is none. Pages of one execution join up exactly.

**Writing** takes a key of the scope \`write\`, \`/v1/users\`, \`/v1/teams\` and \`/v1/keys\` one of the scope \`admin\`. Under the same
\`Idempotency-Key\` a request is carried out once, and its answer given again for 24 hours.

**Errors.** Every answer that is not a success is \`{"error": "…"}\` and has a code in \`X-Error-Code\`; the schema \`ErrorCode\` says what
each means. An unknown address, or a method
that does not fit, is 404 with the code \`route_not_found\`. Checks are made in this order: key, address, identifier,
existence and access, state, parameters, limits. Worth trying again are only 429, 503 and 504.

**Headers** that any answer may have are named in \`x-common-headers\` and described in \`components\`: where the next page is, how many rows
match and are sent, what they cost, limits, the \`ETag\`. An answer with an \`ETag\` takes \`If-None-Match\`, \`Range\`, \`If-Range\` and
\`Want-Repr-Digest\`, as HTTP defines them. \`HEAD\` answers as \`GET\` does, without the body, and costs nothing.

**Also** under \`/api/v1\`, identically. A trailing slash is accepted, unknown parameters are ignored, an empty parameter is as if absent.`;
