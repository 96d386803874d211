-- What each operator calls itself: its latest metadata.
operator_metadata_by_age AS (
  SELECT lower(operator) AS operator, name, website,
    ROW_NUMBER() OVER (PARTITION BY lower(operator) ORDER BY updated_at DESC, name, website) AS age
  FROM restaking.operator_metadata
  WHERE operator IS NOT NULL
),
operator_profile AS (
  SELECT operator, name, website
  FROM operator_metadata_by_age
  WHERE age = 1
)
