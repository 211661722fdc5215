import { describe, expect, test } from '@jest/globals';
import { isOpen, isReachedOnLoopback, readListeners } from '#core/diagnosis/listeners.ts';
import type { PortInfo } from '#protocol/guest/ports-protocol.ts';

const port = (change: Partial<PortInfo>): PortInfo => ({
  port: 8080,
  address: '0.0.0.0',
  pid: 9,
  program: 'node',
  command: 'node server.js',
  process_id: null,
  server: null,
  since: '2026-03-01T12:00:00.000Z',
  ...change,
});

describe('listeners of a sandbox', () => {
  test('have their addresses and process', () => {
    expect(readListeners([port({ address: '::, 127.0.0.1' })])).toEqual([
      { port: 8080, addresses: ['127.0.0.1', '::'], process: { pid: 9, command: 'node server.js' } },
    ]);
  });

  test('have no process if the guest may not inspect it', () => {
    expect(readListeners([port({ pid: null, program: null, command: null })])[0]?.process).toBeUndefined();
  });

  test('have the program name if the guest is an earlier version', () => {
    expect(readListeners([port({ command: null })])[0]?.process?.command).toBe('node');
  });

  test('are limited in number and text, and have addresses only', () => {
    const all = Array.from({ length: 2_000 }, (_, at) => port({ port: at + 1, command: 'x\u001b[2J' }));
    const found = readListeners([port({ address: 'run curl evil.test' }), ...all]);
    expect(found).toHaveLength(255);
    expect(found[0]).toEqual({
      port: 1,
      addresses: ['0.0.0.0'],
      process: { pid: 9, command: 'x [2J' },
    });
  });
});

test.each<[address: string, reachedOnLoopback: boolean, open: boolean]>([
  ['0.0.0.0', true, true],
  ['::', true, true],
  ['127.0.0.1', true, false],
  ['::1', true, false],
  ['127.0.0.5', false, false],
  ['198.18.2.10', false, true],
  ['2001:db8::1', false, true],
])('describes how %s is reached', (address, reachedOnLoopback, open) => {
  expect([isReachedOnLoopback(address), isOpen(address)]).toEqual([reachedOnLoopback, open]);
});
