import { describe, expect, test } from '@jest/globals';
import { joinNewest, joinOlder, matches, type RunPageOf } from '../../console/src/runs/run-pages.ts';

const run = (at: number, rest: Partial<RunPageOf['runs'][number]> = {}): RunPageOf['runs'][number] => ({
  run_id: `run_${at}`,
  owner: 'alice',
  title: null,
  sandbox_id: `box-${at}`,
  auto_approve_tools: false,
  status: 'running',
  created_at: '2026-03-01T12:00:00.000Z',
  completed_at: null,
  ...rest,
});
const page = (from: number, to: number, next: string | null): RunPageOf => ({
  runs: Array.from({ length: from - to + 1 }, (_, at) => run(from - at)),
  next,
  total: null,
});
const ids = ({ runs, next }: RunPageOf) => [runs.map(({ run_id: id }) => Number(id.slice(4))), next];

describe('run list pages', () => {
  test('start with the newest run', () => {
    expect(ids(joinNewest(undefined, page(3, 2, 'c2')))).toEqual([[3, 2], 'c2']);
  });

  test('keep older runs when newer ones arrive, and continue at the oldest loaded run', () => {
    const known = joinOlder(page(5, 4, 'c4'), page(3, 2, 'c2'));
    expect(ids(known)).toEqual([[5, 4, 3, 2], 'c2']);
    expect(ids(joinNewest(known, page(6, 5, 'c5')))).toEqual([[6, 5, 4, 3, 2], 'c2']);
  });

  test('show the latest version of each run', () => {
    const newest = { runs: [run(5, { status: 'completed' }), run(4)], next: 'c4', total: null };
    expect(joinNewest(page(5, 4, 'c4'), newest).runs[0]?.status).toBe('completed');
  });

  test('reload from the start if the new runs would leave a gap', () => {
    expect(ids(joinNewest(page(5, 4, 'c4'), page(9, 8, 'c8')))).toEqual([[9, 8], 'c8']);
  });

  test('are complete when the newest page is the last', () => {
    expect(ids(joinNewest(page(5, 4, 'c4'), page(2, 1, null)))).toEqual([[2, 1], null]);
  });

  test('contain no run twice', () => {
    expect(ids(joinOlder(page(5, 3, 'c3'), page(4, 2, null)))).toEqual([[5, 4, 3, 2], null]);
  });
});

test.each([
  ['', 'any', true],
  ['PRICING', 'any', true],
  ['run_1', 'any', true],
  ['box-1', 'any', true],
  ['alice', 'any', true],
  ['nothing', 'any', false],
  ['pricing', 'completed', false],
  ['pricing', 'running', true],
] as const)('finds a run by %j among those in state %s: %p', (text, status, found) => {
  expect(matches(run(1, { title: 'Rebuild the pricing page' }), { text, status })).toBe(found);
});
