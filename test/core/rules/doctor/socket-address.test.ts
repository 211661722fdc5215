import { describe, expect, test } from '@jest/globals';
import { isOpen, isReachedOnLoopback, readSocketAddress } from '#core/rules/doctor/socket-address.ts';

describe('an address of the kernel’s socket tables', () => {
  test.each<[hex: string, address: string, reachedOnLoopback: boolean, open: boolean]>([
    ['00000000', '0.0.0.0', true, true],
    ['0100007F', '127.0.0.1', true, false],
    ['7F000001', '127.0.0.1', true, false],
    ['0500007F', '127.0.0.5', false, false],
    ['0A0212C6', '198.18.2.10', false, true],
    ['00000000000000000000000000000000', '::', true, true],
    ['00000000000000000000000001000000', '::1', true, false],
    ['00000000000000000000000000000001', '::1', true, false],
    ['0000000000000000FFFF00000100007F', '127.0.0.1', true, false],
    ['0000000000000000FFFF000000000000', '0.0.0.0', true, true],
    ['B80D0120000000000000000001000000', '2001:db8::1', false, true],
    ['000080FE00000000FF025450DDCCBBFE', 'fe80::5054:2ff:febb:ccdd', false, true],
    ['00000100020003000400050006000700', '1:0:3:2:5:4:7:6', false, true],
  ])('%s is %s', (hex, address, reached, open) => {
    const read = readSocketAddress(hex) ?? '';
    expect([read, isReachedOnLoopback(read), isOpen(read)]).toEqual([address, reached, open]);
  });

  test.each(['', '0100007', '0100007f', '0100007F0', 'GGGGGGGG', '0100007F:0BB8'])('%j is none', (text) => {
    expect(readSocketAddress(text)).toBeUndefined();
  });
});
