-- Which operator is registered to which service: the latest status of the pair decides (1 registered, 0 not), by block
-- and, within a block, by log index.
status_by_age AS (
  SELECT lower(avs) AS avs, lower(operator) AS operator, status, block_time,
    ROW_NUMBER() OVER (PARTITION BY lower(avs), lower(operator) ORDER BY block_number DESC, log_index DESC) AS age
  FROM restaking.operator_avs_registration_status_updated
  WHERE avs IS NOT NULL AND operator IS NOT NULL
),
registered AS (
  SELECT avs, operator, block_time AS registered_at
  FROM status_by_age
  WHERE age = 1 AND status = 1
)
