-- One row for each operator that was ever delegated to, registered anywhere or published metadata; the largest first, ties
-- by address. Shares are summed exactly, in wei, and become a double of token units once.
WITH
{{net_shares}},
{{strategies}},
{{operator_profiles}},
known_operator AS (
  SELECT operator FROM net_shares
  UNION
  SELECT lower(operator) FROM restaking.operator_avs_registration_status_updated WHERE operator IS NOT NULL
  UNION
  SELECT operator FROM operator_profile
),
staker_count AS (
  SELECT operator, COUNT(DISTINCT staker) AS stakers
  FROM net_shares
  WHERE shares > 0
  GROUP BY operator
),
operator_shares AS (
  SELECT operator, strategy, SUM(shares) AS shares
  FROM net_shares
  GROUP BY operator, strategy
),
strategy_value AS (
  SELECT operator_shares.operator, strategy_rate.token,
    CAST(CAST(operator_shares.shares AS VARCHAR) AS DOUBLE) / 1e18 * strategy_rate.rate AS tvl
  FROM operator_shares
  JOIN strategy_rate ON strategy_rate.strategy = operator_shares.strategy
),
operator_value AS (
  SELECT operator,
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
  GROUP BY operator
)
SELECT
  operator_profile.name AS operator_name,
  known_operator.operator AS operator_contract_address,
  -- Added one by one, so that every run rounds alike. EIGEN is left out: it is no ether.
  COALESCE(cbeth, 0e0) + COALESCE(steth, 0e0) + COALESCE(reth, 0e0) + COALESCE(ethx, 0e0) + COALESCE(ankreth, 0e0)
    + COALESCE(oeth, 0e0) + COALESCE(oseth, 0e0) + COALESCE(sweth, 0e0) + COALESCE(wbeth, 0e0)
    + COALESCE(sfrxeth, 0e0) + COALESCE(lseth, 0e0) + COALESCE(meth, 0e0) + COALESCE(beacon_chain_eth, 0e0)
    AS "total_TVL",
  CAST(COALESCE(staker_count.stakers, 0) AS DOUBLE) AS num_stakers,
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
  COALESCE(beacon_chain_eth, 0e0) AS "beacon_chain_ETH_TVL",
  COALESCE(eigen, 0e0) AS "EIGEN_TVL"
FROM known_operator
LEFT JOIN operator_profile ON operator_profile.operator = known_operator.operator
LEFT JOIN operator_value ON operator_value.operator = known_operator.operator
LEFT JOIN staker_count ON staker_count.operator = known_operator.operator
ORDER BY "total_TVL" DESC, operator_contract_address
