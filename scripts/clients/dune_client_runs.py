"""The hosted API's Python client, unmodified but for its address, runs a query: DUNE_API_KEY, DUNE_API_BASE_URL, and the query's id."""
import json
import sys

from dune_client.client import DuneClient
from dune_client.query import QueryBase
from dune_client.types import QueryParameter

client = DuneClient()
query = QueryBase(
    query_id=int(sys.argv[1]),
    params=[QueryParameter.number_type("factor", 3), QueryParameter.text_type("chain", "base")],
)
results = client.run_query(query, ping_frequency=1)
frame = client.run_query_dataframe(query, ping_frequency=1)
print(
    json.dumps(
        {
            "state": results.state.value,
            "rows": results.result.rows,
            "frame": frame.to_dict(orient="records"),
        }
    )
)
