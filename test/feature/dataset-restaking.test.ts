/**
 * The three restaking datasets over sources that can be computed by hand: first one small world with every expected row written
 * out, then each rule as a case.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { address, contractOf, only, rowsIn, type Statuses, strategies, type World } from './restaking-world.ts';

const [OPERATOR_A, OPERATOR_B, OPERATOR_C] = [address('a'), address('b'), address('c')];
const [AVS_1, AVS_2] = [address('1'), address('2')];
const [ANN, BOB, CAT] = [address('7'), address('8'), address('9')];

describe('a small world', () => {
  const WORLD: World = {
    increased: [
      [OPERATOR_A, ANN, 'cbETH', '10'],
      [OPERATOR_A, ANN, 'EIGEN', '1000'],
      [OPERATOR_A, BOB, 'stETH', '4'],
      [OPERATOR_A, CAT, 'beacon_chain_ETH', '32'],
      [OPERATOR_B, BOB, 'stETH', '6'],
      [OPERATOR_B, BOB, 'mETH', '0.5'],
    ],
    decreased: [
      [OPERATOR_A, ANN, 'cbETH', '2.5', 2],
      [OPERATOR_A, BOB, 'stETH', '4', 3],
    ],
    statuses: [
      [OPERATOR_A, AVS_1, 1, 10, 0],
      [OPERATOR_B, AVS_1, 1, 11, 0],
      [OPERATOR_B, AVS_2, 1, 12, 0],
      [OPERATOR_A, AVS_2, 1, 13, 0],
      [OPERATOR_A, AVS_2, 0, 14, 0],
    ],
    rates: [
      ['cbETH', 1.5, 1],
      ['cbETH', 2, 5],
      ['stETH', 1.25, 1],
    ],
    operators: [[OPERATOR_A, 'Alpha', 'https://alpha.example']],
    avss: [[AVS_1, 'First', 'https://first.example']],
  };

  test('operator-stats', async () => {
    assert.deepEqual(await rowsIn('operator-stats', WORLD), [
      {
        operator_name: 'Alpha',
        operator_contract_address: OPERATOR_A,
        total_TVL: 47,
        num_stakers: 2,
        ...strategies({ strategy_01_TVL: 15, beacon_chain_ETH_TVL: 32, EIGEN_TVL: 1000 }, true),
      },
      {
        operator_name: null,
        operator_contract_address: OPERATOR_B,
        total_TVL: 8,
        num_stakers: 1,
        ...strategies({ strategy_02_TVL: 7.5, strategy_12_TVL: 0.5 }, true),
      },
    ]);
  });

  test('avs-stats', async () => {
    assert.deepEqual(await rowsIn('avs-stats', WORLD), [
      {
        avs_name: 'First',
        avs_contract_address: AVS_1,
        num_operators: 2,
        total_TVL: 1055,
        num_stakers: 3,
        ...strategies(
          { strategy_01_TVL: 15, strategy_02_TVL: 7.5, strategy_12_TVL: 0.5, beacon_chain_ETH_TVL: 32 },
          false,
        ),
      },
      {
        avs_name: null,
        avs_contract_address: AVS_2,
        num_operators: 1,
        total_TVL: 8,
        num_stakers: 1,
        ...strategies({ strategy_02_TVL: 7.5, strategy_12_TVL: 0.5 }, false),
      },
    ]);
  });

  test('operator-to-avs-mapping', async () => {
    const first = { avs_contract_address: AVS_1, avs_name: 'First', avs_website: 'https://first.example' };
    const unnamed = { operator_contract_address: OPERATOR_B, operator_name: null, operator_website: null };
    assert.deepEqual(await rowsIn('operator-to-avs-mapping', WORLD), [
      {
        ...first,
        operator_contract_address: OPERATOR_A,
        operator_name: 'Alpha',
        operator_website: 'https://alpha.example',
        registered_time: '2024-03-01 00:02:00.000 UTC',
      },
      { ...first, ...unnamed, registered_time: '2024-03-01 00:02:12.000 UTC' },
      {
        avs_contract_address: AVS_2,
        avs_name: null,
        avs_website: null,
        ...unnamed,
        registered_time: '2024-03-01 00:02:24.000 UTC',
      },
    ]);
  });
});

describe('shares', () => {
  test('a re-delegation moves a staker and its shares from one operator to another', async () => {
    const rows = await rowsIn('operator-stats', {
      increased: [
        [OPERATOR_A, ANN, 'rETH', '5', 1],
        [OPERATOR_B, ANN, 'rETH', '5', 2],
      ],
      decreased: [[OPERATOR_A, ANN, 'rETH', '5', 2]],
    });
    assert.deepEqual(only(rows, 'operator_contract_address', 'strategy_03_TVL', 'num_stakers'), [
      [OPERATOR_B, 5, 1],
      [OPERATOR_A, 0, 0],
    ]);
  });

  test('a withdrawal to zero leaves no staker, and the operator stays in the list', async () => {
    const rows = await rowsIn('operator-stats', {
      increased: [[OPERATOR_A, ANN, 'rETH', '1.000000000000000001']],
      decreased: [[OPERATOR_A, ANN, 'rETH', '1.000000000000000001', 9]],
    });
    assert.deepEqual(only(rows, 'operator_contract_address', 'total_TVL', 'num_stakers'), [[OPERATOR_A, 0, 0]]);
  });

  test('a staker who withdrew all but one wei still counts: shares are exact, beyond what a double can hold', async () => {
    const rows = await rowsIn('operator-stats', {
      increased: [[OPERATOR_A, ANN, 'beacon_chain_ETH', '123456789.123456789123456789']],
      decreased: [[OPERATOR_A, ANN, 'beacon_chain_ETH', '123456789.123456789123456788', 9]],
    });
    assert.deepEqual(only(rows, 'total_TVL', 'num_stakers'), [[1e-18, 1]]);
  });

  test("shares become the nearest double, which DuckDB's own cast of a decimal does not give", async () => {
    const amounts = [
      '32.050083377273121587',
      '24.595342491709339162',
      '1470.588372526452835266',
      '160.921841918111925202',
    ];
    const increased = amounts.map((ether, i) => [address(String(i + 1)), ANN, 'beacon_chain_ETH', ether] as const);
    const statuses = increased.map(([operator]) => [operator, operator, 1, 1, 0] as const);
    const expected = [1470.588372526453, 160.92184191811194, 32.050083377273126, 24.59534249170934];
    for (const name of ['operator-stats', 'avs-stats']) {
      const rows = await rowsIn(name, { increased, statuses });
      assert.deepEqual(only(rows, 'total_TVL').flat(), expected, name);
    }
  });

  test('a staker in several strategies, and with several operators of a service, is counted once', async () => {
    const world: World = {
      increased: [
        [OPERATOR_A, ANN, 'rETH', '1'],
        [OPERATOR_A, ANN, 'mETH', '1'],
        [OPERATOR_B, ANN, 'mETH', '1'],
        [OPERATOR_B, BOB, 'mETH', '1'],
      ],
      statuses: [
        [OPERATOR_A, AVS_1, 1, 1, 0],
        [OPERATOR_B, AVS_1, 1, 1, 1],
      ],
    };
    assert.deepEqual(only(await rowsIn('operator-stats', world), 'operator_contract_address', 'num_stakers'), [
      [OPERATOR_A, 1],
      [OPERATOR_B, 2],
    ]);
    assert.deepEqual(only(await rowsIn('avs-stats', world), 'num_stakers'), [[2]]);
  });

  test('an unlisted strategy has no value, but its staker counts', async () => {
    const rows = await rowsIn('operator-stats', { increased: [[OPERATOR_A, ANN, address('f'), '1']] });
    assert.deepEqual(only(rows, 'total_TVL', 'num_stakers'), [[0, 1]]);
  });

  test('the latest exchange rate of a strategy that is known counts; without a rate it counts one to one', async () => {
    const rows = await rowsIn('operator-stats', {
      increased: [
        [OPERATOR_A, ANN, 'swETH', '10'],
        [OPERATOR_A, ANN, 'ETHx', '10'],
      ],
      rates: [
        ['swETH', null, 40],
        ['swETH', 1.5, 30],
        ['swETH', 1.1, 20],
        ['ETHx', null, 20],
      ],
    });
    assert.deepEqual(only(rows, 'strategy_08_TVL', 'strategy_04_TVL', 'total_TVL'), [[15, 10, 25]]);
  });

  test("EIGEN does not count in an operator's total, and counts in a service's", async () => {
    const world: World = {
      increased: [
        [OPERATOR_A, ANN, 'EIGEN', '100'],
        [OPERATOR_A, ANN, 'OETH', '1'],
      ],
      statuses: [[OPERATOR_A, AVS_1, 1, 1, 0]],
    };
    assert.deepEqual(only(await rowsIn('operator-stats', world), 'total_TVL', 'EIGEN_TVL'), [[1, 100]]);
    assert.deepEqual(only(await rowsIn('avs-stats', world), 'total_TVL'), [[101]]);
  });
});

describe('registrations', () => {
  const pairs = async (statuses: Statuses) =>
    only(await rowsIn('operator-to-avs-mapping', { statuses }), 'operator_contract_address', 'registered_time');

  test('deregistered and registered again in one block: the log index decides', async () => {
    assert.deepEqual(
      await pairs([
        [OPERATOR_A, AVS_1, 1, 5, 0],
        [OPERATOR_A, AVS_1, 1, 7, 12],
        [OPERATOR_A, AVS_1, 0, 7, 9],
      ]),
      [[OPERATOR_A, '2024-03-01 00:01:24.000 UTC']],
    );
    assert.deepEqual(
      await pairs([
        [OPERATOR_A, AVS_1, 1, 7, 9],
        [OPERATOR_A, AVS_1, 0, 7, 12],
      ]),
      [],
    );
  });

  test('the registered time is that of the latest registration', async () => {
    const rows = await pairs([
      [OPERATOR_A, AVS_1, 1, 5, 0],
      [OPERATOR_A, AVS_1, 0, 10, 0],
      [OPERATOR_A, AVS_1, 1, 20, 0],
    ]);
    assert.deepEqual(rows, [[OPERATOR_A, '2024-03-01 00:04:00.000 UTC']]);
  });

  test('the registered time has the milliseconds of its block', async () => {
    const rows = await pairs([
      [OPERATOR_A, AVS_1, 1, 5.0625, 0],
      [OPERATOR_B, AVS_1, 1, 4.9995, 0],
    ]);
    assert.deepEqual(rows, [
      [OPERATOR_A, '2024-03-01 00:01:00.750 UTC'],
      [OPERATOR_B, '2024-03-01 00:00:59.994 UTC'],
    ]);
  });

  test('a service that every operator has left stays in the list, empty', async () => {
    const rows = await rowsIn('avs-stats', {
      increased: [[OPERATOR_A, ANN, 'mETH', '1']],
      statuses: [
        [OPERATOR_A, AVS_1, 1, 5, 0],
        [OPERATOR_A, AVS_1, 0, 6, 0],
      ],
    });
    assert.deepEqual(only(rows, 'avs_contract_address', 'num_operators', 'num_stakers', 'total_TVL'), [
      [AVS_1, 0, 0, 0],
    ]);
  });

  test('an operator that only registered, without a delegation, is in the list', async () => {
    const rows = await rowsIn('operator-stats', { statuses: [[OPERATOR_C, AVS_1, 1, 1, 0]] });
    assert.deepEqual(only(rows, 'operator_contract_address', 'total_TVL'), [[OPERATOR_C, 0]]);
  });
});

describe('names and addresses', () => {
  test('the latest metadata counts', async () => {
    const rows = await rowsIn('operator-stats', {
      operators: [
        [OPERATOR_A, 'New', 'https://new.example', '2024-02-01 00:00:00 UTC'],
        [OPERATOR_A, 'Old', 'https://old.example', '2024-01-01 00:00:00 UTC'],
      ],
    });
    assert.deepEqual(only(rows, 'operator_name', 'operator_contract_address'), [['New', OPERATOR_A]]);
  });

  test('what is not known of an operator or a service makes no row, and counts for nobody', async () => {
    const world: World = {
      increased: [
        [OPERATOR_A, ANN, 'cbETH', '3'],
        [OPERATOR_A, null, 'cbETH', '1'],
        [null, BOB, 'cbETH', '5'],
      ],
      decreased: [[null, ANN, 'cbETH', '1', 2]],
      statuses: [
        [OPERATOR_A, AVS_1, 1, 1, 0],
        [null, AVS_1, 1, 1, 1],
        [null, AVS_2, 1, 1, 2],
        [OPERATOR_B, null, 1, 1, 3],
        [null, null, 1, 1, 4],
      ],
      operators: [[null, 'Nobody', 'https://nobody.example']],
      avss: [[null, 'Nothing', 'https://nothing.example']],
    };
    assert.deepEqual(
      only(await rowsIn('operator-stats', world), 'operator_contract_address', 'num_stakers', 'total_TVL'),
      [
        [OPERATOR_A, 1, 4],
        [OPERATOR_B, 0, 0],
      ],
    );
    assert.deepEqual(
      only(await rowsIn('avs-stats', world), 'avs_contract_address', 'num_operators', 'num_stakers', 'total_TVL'),
      [
        [AVS_1, 1, 1, 4],
        [AVS_2, 0, 0, 0],
      ],
    );
    assert.deepEqual(
      only(await rowsIn('operator-to-avs-mapping', world), 'avs_contract_address', 'operator_contract_address'),
      [[AVS_1, OPERATOR_A]],
    );
  });

  test('addresses match in any case, and are answered in lower case', async () => {
    const world: World = {
      increased: [[OPERATOR_A, ANN, 'cbETH', '3']],
      decreased: [[OPERATOR_A.toUpperCase(), ANN.toUpperCase(), contractOf('cbETH').toUpperCase(), '1', 2]],
      statuses: [[OPERATOR_A.toUpperCase(), AVS_1.toUpperCase(), 1, 1, 0]],
      operators: [[OPERATOR_A.toUpperCase(), 'Alpha', '']],
      avss: [[AVS_1.toUpperCase(), 'First', '']],
    };
    assert.deepEqual(
      only(await rowsIn('operator-stats', world), 'operator_contract_address', 'operator_name', 'strategy_01_TVL'),
      [[OPERATOR_A, 'Alpha', 2]],
    );
    assert.deepEqual(
      only(await rowsIn('avs-stats', world), 'avs_contract_address', 'avs_name', 'num_operators', 'total_TVL'),
      [[AVS_1, 'First', 1, 2]],
    );
    assert.deepEqual(
      only(await rowsIn('operator-to-avs-mapping', world), 'avs_contract_address', 'operator_contract_address'),
      [[AVS_1, OPERATOR_A]],
    );
  });
});
