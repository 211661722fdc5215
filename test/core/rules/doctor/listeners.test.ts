import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { readListeners } from '#core/rules/doctor/listeners.ts';

describe('what the listening script says', () => {
  test('becomes ports with their addresses and processes, lowest port first', () => {
    const text = `listens 0100007F:1435 901
listens 00000000:0BB8 900
listens 00000000000000000000000000000000:0BB8 902
holds 14 901 node /workspace/node_modules/.bin/vite 
holds 9 900 python3 -m http.server 3000
told
`;
    expect(readListeners(text)).toEqual([
      {
        port: 3000,
        addresses: ['0.0.0.0', '::'],
        process: { pid: 9, command: 'python3 -m http.server 3000' },
      },
      {
        port: 5173,
        addresses: ['127.0.0.1'],
        process: { pid: 14, command: 'node /workspace/node_modules/.bin/vite' },
      },
    ]);
  });

  test('of several processes that share a socket the first one counts', () => {
    const text = 'holds 31 7 worker\nholds 30 7 master\nholds 32 7 worker\nlistens 00000000:1F90 7\n';
    expect(readListeners(text)[0]?.process).toEqual({ pid: 30, command: 'master' });
  });

  test('a port whose process does not show has none', () => {
    expect(readListeners('listens 00000000:1F90 7\n')).toEqual([
      { port: 8080, addresses: ['0.0.0.0'], process: undefined },
    ]);
  });

  test.each([
    ['no address', 'listens 0100007:0BB8 1'],
    ['port 0', 'listens 00000000:0000 1'],
    ['no inode', 'listens 00000000:0BB8'],
    ['something behind it', 'listens 00000000:0BB8 1 2'],
    ['another word', 'speaks 00000000:0BB8 1'],
  ])('a line with %s is passed over', (_name, line) => {
    expect(readListeners(`${line}\nlistens 00000000:1F90 7\n`).map(({ port }) => port)).toEqual([8080]);
  });

  test('is kept within bounds, whatever it is', () => {
    const flood = Array.from({ length: 60_000 }, (_, at) => {
      const port = (at + 1).toString(16).toUpperCase().padStart(4, '0');
      return `listens 00000000:${port} ${at}\nholds 4 ${at} ${'x'.repeat(100)}\u001b[2J\n`;
    });
    const addresses = Array.from({ length: 50 }, (_, at) => `listens 0${at % 10}0${at % 7}007F:0001 1\n`);
    const found = readListeners([...addresses, ...flood].join(''));
    expect(found).toHaveLength(256);
    expect(found[0]?.addresses.length).toBe(8);
    expect(found[1]?.process?.command).toBe(`${'x'.repeat(100)} [2J`);
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        for (const { port, addresses } of readListeners(`listens ${a}\nholds ${b}\n${a}${b}`)) {
          expect(port).toBeGreaterThan(0);
          expect(addresses.length).toBeGreaterThan(0);
        }
      }),
    );
  });
});
