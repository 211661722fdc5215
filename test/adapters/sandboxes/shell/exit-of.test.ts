import { describe, expect, test } from '@jest/globals';
import { exitOf } from '#adapters/sandboxes/shell/exit-of.ts';

describe('an exit code', () => {
  test.each([
    [0, { code: 0 }],
    [128, { code: 128 }],
    [130, { signal: 'SIGINT' }],
    [134, { signal: 'SIGABRT' }],
    [137, { signal: 'SIGKILL' }],
    [143, { signal: 'SIGTERM' }],
    [255, { code: 255 }],
  ])('of %d is %j', (code, exit) => {
    expect(exitOf(code)).toEqual(exit);
  });
});
