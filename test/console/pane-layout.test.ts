import { describe, expect, test } from '@jest/globals';
import { arrangePanes, moveDivider, readPanes } from '../../console/src/workspace/pane-layout.ts';

const COLUMNS = [['a', 'b'], ['c']];

describe('the layout of panes', () => {
  test('divides the space by shares', () => {
    const { boxes, dividers } = arrangePanes(COLUMNS, () => true, { 'column:a': 3, a: 1, b: 3 });
    expect(Object.fromEntries(boxes)).toEqual({
      a: { left: 0, top: 0, width: 75, height: 25 },
      b: { left: 0, top: 25, width: 75, height: 75 },
      c: { left: 75, top: 0, width: 25, height: 100 },
    });
    expect(dividers.map(({ before, after, value }) => [before, after, value])).toEqual([
      ['column:a', 'column:c', 75],
      ['a', 'b', 25],
    ]);
  });

  test('gives the space of hidden panes to the others', () => {
    const { boxes, dividers } = arrangePanes(COLUMNS, (pane) => pane === 'b', { b: 3 });
    expect(Object.fromEntries(boxes)).toEqual({ b: { left: 0, top: 0, width: 100, height: 100 } });
    expect(dividers).toEqual([]);
  });

  test('moves a divider within its bounds, and changes its neighbours only', () => {
    const { dividers } = arrangePanes([['a'], ['b'], ['c']], () => true, { 'column:b': 2 });
    const [first] = dividers;
    if (first === undefined) throw new Error('no divider');
    expect(moveDivider({ 'column:b': 2 }, first, 50)).toEqual({ 'column:a': 1.5, 'column:b': 1.5 });
    expect(moveDivider({ 'column:b': 2 }, first, -4)['column:a']).toBeCloseTo(0.45);
  });

  test.each([null, '', '3', '{"hidden":[1],"shares":{}}', '{"hidden":[],"shares":{"a":0}}', '{"hidden":[]}'])(
    'ignores %s as a stored layout',
    (text) => expect(readPanes(text)).toBeUndefined(),
  );

  test('reads a stored layout', () => {
    const stored = { hidden: ['files'], shares: { preview: 2.5 } };
    expect(readPanes(JSON.stringify(stored))).toEqual(stored);
  });
});
