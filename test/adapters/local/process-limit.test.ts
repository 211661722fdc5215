import { expect, test } from '@jest/globals';
import { processLimit } from '#adapters/local/process-limit.ts';

const limits = (hard: string): string =>
  `Max core file size        0                    unlimited            bytes\nMax processes             900                  ${hard.padEnd(20)} processes\n`;

test('allows 4096 processes and threads in a sandbox', () => {
  expect(processLimit(limits('31774'))).toBe(4096);
  expect(processLimit(limits('unlimited'))).toBe(4096);
});

test('allows no more than the host may have itself when that is less', () => {
  expect(processLimit(limits('1000'))).toBe(1000);
});
