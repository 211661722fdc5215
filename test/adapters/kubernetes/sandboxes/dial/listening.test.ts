import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { isTaken } from '#adapters/kubernetes/sandboxes/dial/listening.ts';

const row = (local: string, state: string): string =>
  `   0: ${local} ${'0'.repeat(local.indexOf(':'))}:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n`;
const HEAD =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

test.each([
  ['a server on 127.0.0.1', row('0100007F:0BB8', '0A'), true],
  ['a server on every address', row('00000000:0BB8', '0A'), true],
  ['a server on ::', row(`${'0'.repeat(32)}:0BB8`, '0A'), true],
  ['a server on ::1', row(`${'0'.repeat(24)}01000000:0BB8`, '0A'), true],
  ['a server that took one connection and listens no more', row('0100007F:0BB8', '01'), true],
  ['a server on the pod’s own address alone', row('0500A8C0:0BB8', '0A'), false],
  ['a connection that has ended', row('0100007F:0BB8', '06'), false],
  ['a server on another port', row('0100007F:0BB9', '0A'), false],
  ['nothing', '', false],
])('%s', (_title, rows, taken) => {
  expect(isTaken(HEAD + rows, 3000)).toBe(taken);
});

test('no text of a sandbox’s own breaks the look', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 500 }),
      fc.integer({ min: 1, max: 65_535 }),
      (text, port) => {
        expect(typeof isTaken(text, port)).toBe('boolean');
      },
    ),
  );
});
