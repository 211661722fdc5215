import { describe, expect, test } from '@jest/globals';
import type { CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import { garbageOf, surplusOf } from '#core/checkpoints/collect-checkpoints.ts';
import { ALICE, minutes, NOON } from '#test/contracts/records/samples.ts';

function checkpoint(id: string, rest: Partial<CheckpointRecord> = {}): CheckpointRecord {
  return {
    id,
    owner: ALICE,
    sandboxId: 'box',
    generation: 1,
    family: 'a',
    parentId: null,
    label: null,
    cause: 'edits',
    state: 'ready',
    createdAt: NOON,
    image: null,
    servers: [],
    variables: [],
    files: 0,
    bytes: 0,
    storedBytes: 0,
    leftOut: 0,
    isConsistent: true,
    manifestSha256: '',
    baseId: null,
    packs: {},
    memory: null,
    ...rest,
  };
}

const ids = (checkpoints: readonly CheckpointRecord[]) => checkpoints.map(({ id }) => id);

describe('what can be removed of a family', () => {
  test('is deleted, and neither base nor pack of a listed checkpoint', () => {
    const family = [
      checkpoint('pack', { state: 'deleted' }),
      checkpoint('base', { state: 'deleted' }),
      checkpoint('gone', { state: 'deleted', packs: { gone: 1 } }),
      checkpoint('listed', { baseId: 'base', packs: { pack: 1 } }),
    ];
    expect(ids(garbageOf(family, NOON))).toEqual(['gone']);
    expect(ids(garbageOf(family.slice(0, 3), NOON))).toEqual(['pack', 'base', 'gone']);
  });

  test('is nothing while one is being made, and an abandoned one later', () => {
    const family = [checkpoint('gone', { state: 'deleted' }), checkpoint('new', { state: 'creating' })];
    expect(garbageOf(family, NOON)).toEqual([]);
    expect(ids(garbageOf(family, minutes(1)))).toEqual(['gone', 'new']);
  });
});

test('the surplus is what is automatic, has no label, and is not among the last', () => {
  const checkpoints = [
    checkpoint('1'),
    checkpoint('2', { label: 'kept' }),
    checkpoint('3', { cause: 'manual' }),
    checkpoint('4'),
    checkpoint('5'),
  ];
  expect(surplusOf(checkpoints, 1)).toEqual(['1', '4']);
  expect(surplusOf(checkpoints, 3)).toEqual([]);
});
