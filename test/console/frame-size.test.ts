import { expect, test } from '@jest/globals';
import { frameBox } from '../../console/src/previews/frame-size.ts';

const SPACE = { width: 600, height: 422 };

test.each([
  ['fills the pane', 'fit', false, { ...SPACE, scale: 1 }],
  ['shrinks a phone to the height of the pane', 'phone', false, { width: 390, height: 844, scale: 0.5 }],
  ['turns a phone', 'phone', true, { width: 844, height: 390, scale: 600 / 844 }],
] as const)('%s', (_, device, isRotated, box) => {
  expect(frameBox(SPACE, device, isRotated)).toEqual(box);
});

test('never enlarges a device', () => {
  expect(frameBox({ width: 2_000, height: 2_000 }, 'phone', false).scale).toBe(1);
});

test('gives a pane without a size a scale that can be drawn', () => {
  expect(frameBox({ width: 0, height: 0 }, 'desktop', false).scale).toBe(1);
});
