import { describe, expect, test } from '@jest/globals';
import { readControl, readShell, readSize } from '#core/terminals/terminal-messages.ts';

describe('terminal size', () => {
  test.each<[{ cols?: string; rows?: string }, number, number, boolean]>([
    [{}, 80, 24, false],
    [{ cols: '', rows: '' }, 80, 24, false],
    [{ cols: '120' }, 120, 24, true],
    [{ rows: '50' }, 80, 50, true],
    [{ cols: '1', rows: '4096' }, 1, 4096, true],
    [{ cols: '99.9', rows: '1e2' }, 99, 100, true],
  ])('parses %j as %i by %i', (query, cols, rows, isAsked) => {
    expect(readSize(query)).toEqual({ size: { cols, rows }, isAsked });
  });

  test.each([
    [{ cols: 'abc' }, 'cols and rows must be valid numbers'],
    [{ rows: '24x' }, 'cols and rows must be valid numbers'],
    [{ cols: 'Infinity' }, 'cols and rows must be valid numbers'],
    [{ cols: '0' }, 'cols and rows must be from 1 to 4096'],
    [{ cols: '0.9' }, 'cols and rows must be from 1 to 4096'],
    [{ rows: '-1' }, 'cols and rows must be from 1 to 4096'],
    [{ rows: '4097' }, 'cols and rows must be from 1 to 4096'],
  ])('rejects %j', (query, message) => {
    expect(() => readSize(query)).toThrow(expect.objectContaining({ code: 'invalid_request', message }));
  });
});

describe('terminal shell', () => {
  test.each<[string | undefined, string]>([
    [undefined, 'bash'],
    ['', 'bash'],
    ['zsh', 'zsh'],
    ['/bin/bash', '/bin/bash'],
    ['./my-shell_2.0+', './my-shell_2.0+'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('parses %j as %s', (given, shell) => {
    expect(readShell(given)).toBe(shell);
  });

  test.each(['bash -l', '-i', 'a;b', 'a\0b', 'a\n', '$SHELL', 'naïve', 'A=1', 'x'.repeat(256)])(
    'rejects %j',
    (shell) => {
      expect(() => readShell(shell)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    },
  );
});

describe('control message', () => {
  const positive = 'Invalid dimensions: cols and rows must be positive';
  const most = 'Invalid dimensions: cols and rows must be at most 4096';
  test.each<[string, ReturnType<typeof readControl>]>([
    ['{"type":"resize","cols":120,"rows":30}', { kind: 'resize', size: { cols: 120, rows: 30 } }],
    ['{"type":"resize","cols":1.5,"rows":30.9}', { kind: 'resize', size: { cols: 1, rows: 30 } }],
    ['{"type":"ping"}', { kind: 'unknown' }],
    ['{"type":"pause"}', { kind: 'pause' }],
    ['{"type":"resume"}', { kind: 'resume' }],
    ['{"cols":1}', { kind: 'unknown' }],
    ['[]', { kind: 'unknown' }],
    ['', { kind: 'refused', message: 'Invalid control message' }],
    ['resize', { kind: 'refused', message: 'Invalid control message' }],
    ['null', { kind: 'refused', message: 'Invalid control message' }],
    ['7', { kind: 'refused', message: 'Invalid control message' }],
    [`{"type":"${'x'.repeat(5_000)}"}`, { kind: 'refused', message: 'Invalid control message' }],
    ['{"type":"resize"}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":null,"rows":1}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":"9","rows":"9"}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":0,"rows":1}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":0.5,"rows":1}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":1,"rows":-3}', { kind: 'refused', message: positive }],
    ['{"type":"resize","cols":4097,"rows":1}', { kind: 'refused', message: most }],
    ['{"type":"resize","cols":1e308,"rows":1}', { kind: 'refused', message: most }],
  ])('parses %.50s', (text, control) => {
    expect(readControl(text)).toEqual(control);
  });
});
