-- One row for each service (AVS) that an operator ever registered to or that published metadata; the largest first, ties
-- by address. What a service has is what its registered operators have.
WITH
{{net_shares}},
{{strategies}},
{{registrations}},
{{avs_profiles}},
known_avs AS (
  SELECT lower(avs) AS avs FROM restaking.operator_avs_registration_status_updated WHERE avs IS NOT NULL
  UNION
  SELECT avs FROM avs_profile
),
operator_count AS (
  SELECT avs, COUNT(*) AS operators
  FROM registered
  GROUP BY avs
),
staker_count AS (
  SELECT registered.avs, COUNT(DISTINCT net_shares.staker) AS stakers
  FROM registered
  JOIN net_shares ON net_shares.operator = registered.operator
  WHERE net_shares.shares > 0
  GROUP BY registered.avs
),
operator_shares AS (
  SELECT operator, strategy, SUM(shares) AS shares
  FROM net_shares
  GROUP BY operator, strategy
),
avs_shares AS (
  SELECT registered.avs, operator_shares.strategy, SUM(operator_shares.shares) AS shares
  FROM registered
  JOIN operator_shares ON operator_shares.operator = registered.operator
  GROUP BY registered.avs, operator_shares.strategy
),
strategy_value AS (
  SELECT avs_shares.avs, strategy_rate.token,
    CAST(CAST(avs_shares.shares AS VARCHAR) AS DOUBLE) / 1e18 * strategy_rate.rate AS tvl
  FROM avs_shares
  JOIN strategy_rate ON strategy_rate.strategy = avs_shares.strategy
),
avs_value AS (
  SELECT avs,
    SUM(tvl) FILTER (WHERE token = 'cbETH') AS cbeth,
    SUM(tvl) FILTER (WHERE token = 'stETH') AS steth,
    SUM(tvl) FILTER (WHERE token = 'rETH') AS reth,
    SUM(tvl) FILTER (WHERE token = 'ETHx') AS ethx,
    SUM(tvl) FILTER (WHERE token = 'ankrETH') AS ankreth,
    SUM(tvl) FILTER (WHERE token = 'OETH') AS oeth,
    SUM(tvl) FILTER (WHERE token = 'osETH') AS oseth,
    SUM(tvl) FILTER (WHERE token = 'swETH') AS sweth,
    SUM(tvl) FILTER (WHERE token = 'wBETH') AS wbeth,
    SUM(tvl) FILTER (WHERE token = 'sfrxETH') AS sfrxeth,
    SUM(tvl) FILTER (WHERE token = 'lsETH') AS lseth,
    SUM(tvl) FILTER (WHERE token = 'mETH') AS meth,
    SUM(tvl) FILTER (WHERE token = 'beacon_chain_ETH') AS beacon_chain_eth,
    SUM(tvl) FILTER (WHERE token = 'EIGEN') AS eigen
  FROM strategy_value
  GROUP BY avs
)
SELECT
  avs_profile.name AS avs_name,
  known_avs.avs AS avs_contract_address,
  COALESCE(operator_count.operators, 0) AS num_operators,
  -- Added one by one, so that every run rounds alike. All strategies count here, EIGEN too, though it has no column.
  COALESCE(cbeth, 0e0) + COALESCE(steth, 0e0) + COALESCE(reth, 0e0) + COALESCE(ethx, 0e0) + COALESCE(ankreth, 0e0)
    + COALESCE(oeth, 0e0) + COALESCE(oseth, 0e0) + COALESCE(sweth, 0e0) + COALESCE(wbeth, 0e0)
    + COALESCE(sfrxeth, 0e0) + COALESCE(lseth, 0e0) + COALESCE(meth, 0e0) + COALESCE(beacon_chain_eth, 0e0)
    + COALESCE(eigen, 0e0)
    AS "total_TVL",
  COALESCE(staker_count.stakers, 0) AS num_stakers,
  COALESCE(cbeth, 0e0) AS {{cbETH_TVL}},
  COALESCE(steth, 0e0) AS {{stETH_TVL}},
  COALESCE(reth, 0e0) AS {{rETH_TVL}},
  COALESCE(ethx, 0e0) AS {{ETHx_TVL}},
  COALESCE(ankreth, 0e0) AS {{ankrETH_TVL}},
  COALESCE(oeth, 0e0) AS {{OETH_TVL}},
  COALESCE(oseth, 0e0) AS {{osETH_TVL}},
  COALESCE(sweth, 0e0) AS {{swETH_TVL}},
  COALESCE(wbeth, 0e0) AS {{wBETH_TVL}},
  COALESCE(sfrxeth, 0e0) AS {{sfrxETH_TVL}},
  COALESCE(lseth, 0e0) AS {{lsETH_TVL}},
  COALESCE(meth, 0e0) AS {{mETH_TVL}},
  COALESCE(beacon_chain_eth, 0e0) AS "beacon_chain_ETH_TVL"
FROM known_avs
LEFT JOIN avs_profile ON avs_profile.avs = known_avs.avs
LEFT JOIN operator_count ON operator_count.avs = known_avs.avs
LEFT JOIN avs_value ON avs_value.avs = known_avs.avs
LEFT JOIN staker_count ON staker_count.avs = known_avs.avs
ORDER BY "total_TVL" DESC, avs_contract_address
