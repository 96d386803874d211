-- The strategies that are counted, each with its latest exchange rate. Shares of one without a rate count one to one: a
-- strategy starts there, and the native and governance strategies never leave it.
listed_strategy (token, strategy) AS (
  VALUES
    {{strategy_rows}}
),
rate_by_age AS (
  SELECT lower(strategy) AS strategy, rate,
    ROW_NUMBER() OVER (PARTITION BY lower(strategy) ORDER BY block_number DESC, log_index DESC) AS age
  FROM restaking.strategy_exchange_rate
  WHERE rate IS NOT NULL
),
strategy_rate AS (
  SELECT listed_strategy.token, listed_strategy.strategy, COALESCE(rate_by_age.rate, 1e0) AS rate
  FROM listed_strategy
  LEFT JOIN rate_by_age ON rate_by_age.strategy = listed_strategy.strategy AND rate_by_age.age = 1
)
