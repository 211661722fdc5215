import { expect, test } from '@jest/globals';
import { processLimit } from '#adapters/local/process-limit.ts';

const limits = (hard: string): string =>
  `Max core file size        0                    unlimited            bytes\nMax processes             900                  ${hard.padEnd(20)} processes\n`;

test('a sandbox may have 4096 processes and threads', () => {
  expect(processLimit(limits('31774'))).toBe(4096);
  expect(processLimit(limits('unlimited'))).toBe(4096);
});

test('a host with less can give no more than it may have itself', () => {
  expect(processLimit(limits('1000'))).toBe(1000);
});
