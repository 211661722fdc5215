import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { posix } from 'node:path';
import { shellCommand, shellQuote } from '#core/processes/execute-command.ts';
import { resolveWorkspacePath } from '#base/workspace-path.ts';

describe('workspace path', () => {
  test.each([
    ['a.txt', '/workspace/a.txt'],
    ['/workspace/a.txt', '/workspace/a.txt'],
    ['/workspace', '/workspace'],
    ['/workspace/', '/workspace'],
    ['/workspace/a/../b', '/workspace/b'],
    ['/workspace/a/..', '/workspace'],
    ['/workspace/..a', '/workspace/..a'],
  ])('normalizes %p to %p', (path, resolved) => {
    expect(resolveWorkspacePath(path, 'path')).toBe(resolved);
  });

  test.each([
    '/etc/passwd',
    '..',
    '../etc',
    '/workspace/../etc',
    '/workspacefoo',
    '/workspace/a/../../etc',
    '/',
  ])('rejects %p', (path) => {
    expect(() => resolveWorkspacePath(path, 'path')).toThrow(
      expect.objectContaining({ code: 'path_outside_workspace' }),
    );
  });

  test('rejects a NUL', () => {
    expect(() => resolveWorkspacePath('a\0b', 'cwd')).toThrow('cwd must not contain a NUL character');
  });

  test('rejects a path longer than a file system allows', () => {
    expect(resolveWorkspacePath('é'.repeat(127), 'path')).toBe(`/workspace/${'é'.repeat(127)}`);
    expect(() => resolveWorkspacePath('é'.repeat(128), 'path')).toThrow(
      'path has a part that is longer than 255 bytes',
    );
    expect(() => resolveWorkspacePath('a/'.repeat(2_050), 'cwd')).toThrow('cwd is longer than 4095 bytes');
  });

  test('keeps every accepted path inside /workspace', () => {
    const part = fc.oneof(fc.constantFrom('..', '.', '', 'workspace', 'a', '...'), fc.string());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, absolute) => {
        const path = (absolute ? '/' : '') + parts.join('/');
        let resolved: string;
        try {
          resolved = resolveWorkspacePath(path, 'path');
        } catch {
          return;
        }
        expect(posix.relative('/workspace', resolved).split('/')[0]).not.toBe('..');
        expect(posix.normalize(resolved)).toBe(resolved);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('shell quoting of the bridge', () => {
  test.each([
    ['hello', 'hello'],
    ['a@%+=:,./-Z9', 'a@%+=:,./-Z9'],
    ['', "$''"],
    ['a_b', "$'a_b'"],
    ['a b', "$'a b'"],
    ["it's", "$'it\\'s'"],
    ['a\\b', "$'a\\\\b'"],
    ['a\nb\rc\td', "$'a\\nb\\rc\\td'"],
    ['$HOME;`id`', "$'$HOME;`id`'"],
    ['é', "$'é'"],
  ])('quotes %p as %p', (word, quoted) => {
    expect(shellQuote(word)).toBe(quoted);
  });

  test('joins argv into one line', () => {
    expect(shellCommand(['printf', '%s', "a b'c"])).toBe("printf %s $'a b\\'c'");
  });
});
