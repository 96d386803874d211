-- One row for each wallet that completed a quest; the most points first, ties by address. What is social belongs to the
-- account that verified the wallet and is the same on all its wallets; what is on chain belongs to the wallet alone.
-- Sums of money and points go through decimals, so that every run rounds alike, and then through text, so that every
-- engine gives the nearest double (docs/decisions). What is before the point and what is after it are added apart: DuckDB
-- makes a decimal of a double by multiplying it, which loses digits of what is larger than 4 × 10⁹.
WITH
-- The first tier whose minimums are both reached in the last 14 days. An action is a cast of the account or a transaction
-- of the wallet; an engagement is another account's with a cast of this one.
tier (place, name, engagements_min, actions_min) AS (
  VALUES
    (1, 'vip', 500, 10),
    (2, 'influencer', 100, 5),
    (3, 'star', 25, 3),
    (4, 'active', 0, 3),
    (5, 'npc', 0, 1),
    (6, 'not active', 0, 0)
),
quest AS (
  SELECT lower(wallet) AS wallet, COUNT(*) AS quests,
    CAST(CAST(SUM(CAST(floor(points) AS DECIMAL(38, 0))) + SUM(CAST(points - floor(points) AS DECIMAL(38, 6)))
      AS VARCHAR) AS DOUBLE) AS points
  FROM points.quests_completed
  GROUP BY lower(wallet)
),
-- A wallet that several accounts verified belongs to the oldest of them: the one with the lowest id.
wallet_account AS (
  SELECT lower(wallet) AS wallet, MIN(social_id) AS social_id
  FROM social.verified_wallets
  WHERE wallet IS NOT NULL
  GROUP BY lower(wallet)
),
-- An account has one name: with several profiles, the first of theirs.
profile AS (
  SELECT social_id, MIN(social_name) AS social_name
  FROM social.profiles
  GROUP BY social_id
),
account_wallets AS (
  SELECT social_id, array_agg(wallet ORDER BY wallet) AS wallets
  FROM wallet_account
  GROUP BY social_id
),
channel_by_place AS (
  SELECT social_id, channel,
    ROW_NUMBER() OVER (PARTITION BY social_id ORDER BY COUNT(*) DESC, channel) AS place
  FROM social.casts
  WHERE channel IS NOT NULL
  GROUP BY social_id, channel
),
top_channel AS (
  SELECT social_id, array_agg(channel ORDER BY place) AS channels
  FROM channel_by_place
  WHERE place <= 3
  GROUP BY social_id
),
embed AS (
  SELECT casts.social_id, lower(embedded.domain) AS domain
  FROM social.casts
  CROSS JOIN UNNEST(casts.embedded_domains) AS embedded (domain)
  WHERE embedded.domain IS NOT NULL
),
domain_by_place AS (
  SELECT social_id, domain,
    ROW_NUMBER() OVER (PARTITION BY social_id ORDER BY COUNT(*) DESC, domain) AS place
  FROM embed
  GROUP BY social_id, domain
),
top_domain AS (
  SELECT social_id, array_agg(domain ORDER BY place) AS domains
  FROM domain_by_place
  WHERE place <= 3
  GROUP BY social_id
),
-- Nobody engages with themselves.
engagement AS (
  SELECT social_id, engaged_at, engager_social_id
  FROM social.engagements
  WHERE engager_social_id <> social_id
),
-- Several accounts may have the same name, so they are counted by id. An engager without a profile goes by its id.
engager_count AS (
  SELECT engagement.social_id, engagement.engager_social_id, COUNT(*) AS engagements,
    COALESCE(profile.social_name, CAST(engagement.engager_social_id AS VARCHAR)) AS engager
  FROM engagement
  LEFT JOIN profile ON profile.social_id = engagement.engager_social_id
  GROUP BY engagement.social_id, engagement.engager_social_id, profile.social_name
),
engager_by_place AS (
  SELECT social_id, engager,
    ROW_NUMBER() OVER (PARTITION BY social_id ORDER BY engagements DESC, engager, engager_social_id) AS place
  FROM engager_count
),
top_engager AS (
  SELECT social_id, array_agg(engager ORDER BY place) AS engagers
  FROM engager_by_place
  WHERE place <= 3
  GROUP BY social_id
),
follower_count AS (
  SELECT social_id, COUNT(DISTINCT follower_social_id) AS followers
  FROM social.followers
  GROUP BY social_id
),
transaction_count AS (
  SELECT lower(from_address) AS wallet, COUNT(*) AS transactions, MIN(block_time) AS first_at,
    COUNT(*) FILTER (WHERE block_time > {{as_of}} - INTERVAL '14' DAY AND block_time <= {{as_of}}) AS recent
  FROM chain.transactions
  GROUP BY lower(from_address)
),
recent_casts AS (
  SELECT social_id, COUNT(*) AS casts
  FROM social.casts
  WHERE cast_at > {{as_of}} - INTERVAL '14' DAY AND cast_at <= {{as_of}}
  GROUP BY social_id
),
recent_engagements AS (
  SELECT social_id, COUNT(*) AS engagements
  FROM engagement
  WHERE engaged_at > {{as_of}} - INTERVAL '14' DAY AND engaged_at <= {{as_of}}
  GROUP BY social_id
),
wallet_tier AS (
  SELECT quest.wallet, MIN(tier.place) AS place
  FROM quest
  LEFT JOIN wallet_account ON wallet_account.wallet = quest.wallet
  LEFT JOIN transaction_count ON transaction_count.wallet = quest.wallet
  LEFT JOIN recent_casts ON recent_casts.social_id = wallet_account.social_id
  LEFT JOIN recent_engagements ON recent_engagements.social_id = wallet_account.social_id
  JOIN tier
    ON COALESCE(recent_engagements.engagements, 0) >= tier.engagements_min
    AND COALESCE(recent_casts.casts, 0) + COALESCE(transaction_count.recent, 0) >= tier.actions_min
  GROUP BY quest.wallet
),
-- Bought and sold alike; a trade with oneself counts once. Either side may be unknown (null).
nft_side AS (
  SELECT lower(buyer) AS wallet, amount_usd FROM nft.trades
  UNION ALL
  SELECT lower(seller), amount_usd FROM nft.trades WHERE lower(seller) IS DISTINCT FROM lower(buyer)
),
nft_volume AS (
  SELECT wallet,
    CAST(CAST(SUM(CAST(floor(amount_usd) AS DECIMAL(38, 0))) + SUM(CAST(amount_usd - floor(amount_usd) AS DECIMAL(38, 6)))
      AS VARCHAR) AS DOUBLE) AS usd
  FROM nft_side
  GROUP BY wallet
),
dex_volume AS (
  SELECT lower(taker) AS wallet,
    CAST(CAST(SUM(CAST(floor(amount_usd) AS DECIMAL(38, 0))) + SUM(CAST(amount_usd - floor(amount_usd) AS DECIMAL(38, 6)))
      AS VARCHAR) AS DOUBLE) AS usd
  FROM dex.trades
  GROUP BY lower(taker)
),
deployment AS (
  SELECT DISTINCT lower(deployer) AS wallet, lower(contract) AS contract
  FROM chain.contracts_deployed
),
deployment_count AS (
  SELECT wallet, COUNT(*) AS contracts
  FROM deployment
  GROUP BY wallet
),
call_count AS (
  SELECT deployment.wallet, COUNT(*) AS calls
  FROM deployment
  JOIN chain.contract_calls ON lower(contract_calls.contract) = deployment.contract
  GROUP BY deployment.wallet
)
SELECT
  quest.wallet,
  quest.points AS current_pts,
  quest.quests AS num_quests,
  wallet_account.social_id IS NOT NULL AS on_social,
  wallet_account.social_id,
  profile.social_name,
  COALESCE(account_wallets.wallets, ARRAY[]) AS connected_wallets,
  tier.name AS "L14D_active_tier",
  COALESCE(top_channel.channels, ARRAY[]) AS top_channels,
  COALESCE(top_domain.domains, ARRAY[]) AS top_domains,
  COALESCE(top_engager.engagers, ARRAY[]) AS top_engagers,
  COALESCE(follower_count.followers, 0) AS num_followers,
  COALESCE(transaction_count.transactions, 0) AS num_onchain_txns,
  date_diff('day', CAST(transaction_count.first_at AS DATE), CAST({{as_of}} AS DATE)) AS days_old_onchain,
  COALESCE(nft_volume.usd, 0e0) AS nft_volume_usd,
  COALESCE(dex_volume.usd, 0e0) AS dex_volume_usd,
  COALESCE(deployment_count.contracts, 0) AS contracts_deployed,
  COALESCE(call_count.calls, 0) AS times_contracts_called
FROM quest
JOIN wallet_tier ON wallet_tier.wallet = quest.wallet
JOIN tier ON tier.place = wallet_tier.place
LEFT JOIN wallet_account ON wallet_account.wallet = quest.wallet
LEFT JOIN profile ON profile.social_id = wallet_account.social_id
LEFT JOIN account_wallets ON account_wallets.social_id = wallet_account.social_id
LEFT JOIN top_channel ON top_channel.social_id = wallet_account.social_id
LEFT JOIN top_domain ON top_domain.social_id = wallet_account.social_id
LEFT JOIN top_engager ON top_engager.social_id = wallet_account.social_id
LEFT JOIN follower_count ON follower_count.social_id = wallet_account.social_id
LEFT JOIN transaction_count ON transaction_count.wallet = quest.wallet
LEFT JOIN nft_volume ON nft_volume.wallet = quest.wallet
LEFT JOIN dex_volume ON dex_volume.wallet = quest.wallet
LEFT JOIN deployment_count ON deployment_count.wallet = quest.wallet
LEFT JOIN call_count ON call_count.wallet = quest.wallet
ORDER BY current_pts DESC, quest.wallet
