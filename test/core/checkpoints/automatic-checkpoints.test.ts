import { describe, expect, test } from '@jest/globals';
import { isBurstOver, isListedCommand } from '#core/checkpoints/automatic-checkpoints.ts';

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1_000);

describe('a burst of edits', () => {
  test.each([
    ['is over after 5 quiet seconds', 100, undefined, 105, true],
    ['is not over before', 100, undefined, 104.9, false],
    ['causes no second checkpoint', 100, 101, 200, false],
    ['causes one at most a minute after the last', 150, 100, 159, false],
    ['causes one a minute after the last', 150, 100, 160, true],
  ])('%s', (_title, changed, checkpoint, now, expected) => {
    const last = checkpoint === undefined ? undefined : at(checkpoint);
    expect(isBurstOver({ changed: at(changed), checkpoint: last }, at(now))).toBe(expected);
  });
});

describe('a command', () => {
  const LINES = ['git reset', 'rm -rf'];
  test.each([
    [['git', 'reset', '--hard'], true],
    [['git', 'status'], false],
    [['git'], false],
    [['sh', '-c', 'rm  -rf dist && npm run build'], true],
    [['/bin/bash', '-lc', ' git reset'], true],
    [['sh', '-c', 'echo rm -rf'], false],
    [['gitreset'], false],
    [['sh', '-c'], false],
  ])('%j is listed: %s', (argv, expected) => {
    expect(isListedCommand(argv, LINES)).toBe(expected);
  });

  test('is not listed without lines', () => {
    expect(isListedCommand(['rm', '-rf'], [])).toBe(false);
  });
});
