import { describe, expect, test } from '@jest/globals';
import { problemsByField, readPairs } from '../../console/src/sandboxes/sandbox-fields.ts';

describe('lines of pairs', () => {
  test.each([
    ['variables', 'A=1\n\nB= two=2 \n', '=', { pairs: { A: '1', B: ' two=2 ' } }],
    ['tags', 'team: blue\nthread_id:4:2', ':', { pairs: { team: 'blue', thread_id: '4:2' } }],
    ['nothing', ' \n', '=', { pairs: {} }],
    ['a line without the sign', 'A=1\nB', '=', { bad: 'B' }],
    ['a line without a name', '=1', '=', { bad: '=1' }],
  ] as const)('%s', (_, text, sign, read) => {
    expect(readPairs(text, sign)).toEqual(read);
  });
});

describe('what the API says of fields', () => {
  const fields = { name: 'name', cpu: 'resources.cpu' };

  test('is told at each', () => {
    const words = 'name: must be short, got "a. b". resources.cpu: must be a number, got "x".';
    expect(problemsByField(words, fields)).toEqual({
      name: 'must be short, got "a. b".',
      cpu: 'must be a number, got "x".',
    });
  });

  test('is of none where it begins with anything else', () => {
    expect(problemsByField('You have 3 of the 3 sandboxes. name: so it is.', fields)).toBeUndefined();
  });
});
