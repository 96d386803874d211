-- One row for each operator and service (AVS) it is registered to now, by address of the service, then of the operator.
WITH
{{registrations}},
{{avs_profiles}},
{{operator_profiles}}
SELECT
  registered.avs AS avs_contract_address,
  avs_profile.name AS avs_name,
  avs_profile.website AS avs_website,
  registered.operator AS operator_contract_address,
  operator_profile.name AS operator_name,
  operator_profile.website AS operator_website,
  -- Text, as the specification types it, with the decimals of every timestamp we print.
  substr(CAST(registered.registered_at AS VARCHAR), 1, 19) || '.'
    || lpad(CAST(millisecond(registered.registered_at) % 1000 AS VARCHAR), 3, '0') || ' UTC' AS registered_time
FROM registered
LEFT JOIN avs_profile ON avs_profile.avs = registered.avs
LEFT JOIN operator_profile ON operator_profile.operator = registered.operator
ORDER BY avs_contract_address, operator_contract_address
