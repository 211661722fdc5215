import { describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import {
  checkCommand,
  checkPath,
  type Grant,
  type GrantLimit,
  delegatedPath,
  limitInTheWay,
  type Scope,
  WHOLE_GRANT,
} from '#core/delegations/delegation-store.ts';

const certain = (commands: readonly string[]): Grant => ({ scopes: ['exec'], commands, paths: null });

function refusal(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof PortholeError)) throw error;
    return error.code;
  }
}

describe('checkCommand', () => {
  test.each<[string, readonly string[], readonly string[], string | undefined]>([
    ['one of them runs', ['python', 'ls'], ['python', '-c', 'print(1)'], undefined],
    ['another one does not', ['python'], ['perl'], 'forbidden'],
    ['its path is another name', ['python'], ['/usr/bin/python'], 'forbidden'],
    ['a longer name is another name', ['python'], ['python3'], 'forbidden'],
    ['a shell is no other command', ['python'], ['sh', '-c', 'python'], 'forbidden'],
    ['a shell runs where it is listed', ['bash'], ['bash', '-c', 'id'], undefined],
    ['case counts', ['python'], ['Python'], 'forbidden'],
    ['a space is part of a name', ['python'], ['python '], 'forbidden'],
    ['the name of a wrapper command is a name', ['python'], ['command', 'python'], 'forbidden'],
    ['a name of an object is no command', ['python'], ['constructor'], 'forbidden'],
  ])('checks that %s', (_fact, commands, argv, code) => {
    expect(refusal(() => checkCommand(certain(commands), argv, {}))).toBe(code);
  });

  test.each([{ sessionId: 'session-1' }, { env: { PATH: '/workspace/bin' } }])(
    'rejects %j for a restricted grant: its environment could change the command',
    (more) => {
      expect(refusal(() => checkCommand(certain(['python']), ['python'], more))).toBe('forbidden');
      expect(refusal(() => checkCommand(WHOLE_GRANT, ['python'], more))).toBeUndefined();
    },
  );

  test('takes an empty env for a restricted grant', () => {
    expect(refusal(() => checkCommand(certain(['python']), ['python'], { env: {} }))).toBeUndefined();
  });
});

describe('checkPath', () => {
  test.each<[string, string | undefined]>([
    ['/workspace/src', undefined],
    ['/workspace/src/a/b.txt', undefined],
    ['/workspace/notes.txt', undefined],
    ['/workspace/src2', 'forbidden'],
    ['/workspace/notes.txt.bak', 'forbidden'],
    ['/workspace', 'forbidden'],
    ['/workspace/sr', 'forbidden'],
  ])('compares %s literally', (path, code) => {
    expect(refusal(() => checkPath(['/workspace/src', '/workspace/notes.txt'], path))).toBe(code);
  });

  test.each<[string, string | undefined]>([
    ['src', '/workspace/src'],
    ['/workspace/src/', '/workspace/src'],
    ['/workspace/a/../b', '/workspace/b'],
    ['.', '/workspace'],
    ['/etc', undefined],
    ['../etc', undefined],
    ['/workspace2', undefined],
  ])('normalizes %s to %s', (path, delegated) => {
    expect(delegated === undefined ? refusal(() => delegatedPath(path)) : delegatedPath(path)).toBe(
      delegated ?? 'invalid_request',
    );
  });
});

test.each<[string, Partial<Grant>, Scope, GrantLimit | undefined, GrantLimit | undefined]>([
  ['nothing, without limits', {}, 'exec', undefined, undefined],
  ['commands, where they are not kept to', { commands: ['ls'] }, 'exec', undefined, 'commands'],
  ['nothing, where commands are kept to', { commands: ['ls'] }, 'exec', 'commands', undefined],
  ['nothing of commands, for files', { commands: ['ls'] }, 'fs:read', undefined, undefined],
  ['paths, where they are not kept to', { paths: ['/workspace/a'] }, 'fs:write', undefined, 'paths'],
  ['nothing, where paths are kept to', { paths: ['/workspace/a'] }, 'fs:read', 'paths', undefined],
])('reports the unenforced limit: %s', (_what, limits, scope, enforced, expected) => {
  expect(limitInTheWay({ ...WHOLE_GRANT, ...limits }, scope, enforced)).toBe(expected);
});
