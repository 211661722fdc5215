import { describe, expect, test } from '@jest/globals';
import { problemsByField, readPairs } from '../../console/src/sandboxes/sandbox-fields.ts';

describe('parse key=value lines', () => {
  test.each([
    ['variables', 'A=1\n\nB= two=2 \n', '=', { pairs: { A: '1', B: ' two=2 ' } }],
    ['tags', 'team: blue\nthread_id:4:2', ':', { pairs: { team: 'blue', thread_id: '4:2' } }],
    ['nothing', ' \n', '=', { pairs: {} }],
    ['a line without the sign', 'A=1\nB', '=', { bad: 'B' }],
    ['a line without a name', '=1', '=', { bad: '=1' }],
  ] as const)('parses %s', (_, text, sign, read) => {
    expect(readPairs(text, sign)).toEqual(read);
  });
});

describe('field errors of the API', () => {
  const fields = { name: 'name', cpu: 'resources.cpu' };

  test('are shown at their fields', () => {
    const words = 'name: must be short, got "a. b". resources.cpu: must be a number, got "x".';
    expect(problemsByField(words, fields)).toEqual({
      name: 'must be short, got "a. b".',
      cpu: 'must be a number, got "x".',
    });
  });

  test('are not assigned to a field for any other prefix', () => {
    expect(problemsByField('You have 3 of the 3 sandboxes. name: so it is.', fields)).toBeUndefined();
  });
});
