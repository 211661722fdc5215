import { expect, test } from '@jest/globals';
import { sandboxName } from '../../console/src/sandboxes/sandbox-name.ts';

test('prefers the name of a sandbox, then its session key', () => {
  expect(sandboxName({ id: 'a', name: 'bench', session_key: 'thread' })).toBe('bench');
  expect(sandboxName({ id: 'a', name: null, session_key: 'thread' })).toBe('thread');
});

test('gives a sandbox without a name two words, which stay the same', () => {
  const name = sandboxName({ id: 'sbx-1', name: null });
  expect(name).toMatch(/^[a-z]+-[a-z]+$/);
  expect(sandboxName({ id: 'sbx-1' })).toBe(name);
  const names = new Set(Array.from({ length: 100 }, (_, at) => sandboxName({ id: `sbx-${at}` })));
  expect(names.size).toBeGreaterThan(90);
});
