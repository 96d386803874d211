-- What each service (AVS) calls itself: its latest metadata.
avs_metadata_by_age AS (
  SELECT lower(avs) AS avs, name, website,
    ROW_NUMBER() OVER (PARTITION BY lower(avs) ORDER BY updated_at DESC, name, website) AS age
  FROM restaking.avs_metadata
  WHERE avs IS NOT NULL
),
avs_profile AS (
  SELECT avs, name, website
  FROM avs_metadata_by_age
  WHERE age = 1
)
