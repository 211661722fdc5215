import { expect, test } from '@jest/globals';
import { randomIds } from '#adapters/system/clock-and-random-ids.ts';
import { idsContract } from '#test/contracts/ids.contract.ts';
import { numberedIds } from './numbered-ids.ts';

idsContract('random ids', () => randomIds);
idsContract('numbered ids', numberedIds);

test('numbered ids start again with each instance', () => {
  expect(numberedIds().run()).toBe(numberedIds().run());
});
