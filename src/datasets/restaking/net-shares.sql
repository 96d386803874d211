-- What each staker has with each operator in each strategy now: shares increased less shares decreased. A re-delegation
-- is a decrease with one operator and an increase with another; a withdrawal is a decrease alone.
share_change AS (
  SELECT lower(operator) AS operator, lower(staker) AS staker, lower(strategy) AS strategy,
    CAST(shares AS DECIMAL(38, 0)) AS shares
  FROM restaking.operator_shares_increased
  WHERE operator IS NOT NULL
  UNION ALL
  SELECT lower(operator), lower(staker), lower(strategy), -CAST(shares AS DECIMAL(38, 0))
  FROM restaking.operator_shares_decreased
  WHERE operator IS NOT NULL
),
net_shares AS (
  SELECT operator, staker, strategy, SUM(shares) AS shares
  FROM share_change
  GROUP BY operator, staker, strategy
)
