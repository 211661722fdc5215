import { expect, test } from '@jest/globals';
import { frameBox } from '../../console/src/previews/frame-size.ts';

const SPACE = { width: 600, height: 422 };

test.each([
  ['fills the pane', 'fit', false, 'auto', { ...SPACE, scale: 1 }],
  ['shows more of the page at half size', 'fit', false, '0.5', { width: 1_200, height: 844, scale: 0.5 }],
  [
    'shrinks a phone to the height of the pane',
    'phone',
    false,
    'auto',
    { width: 390, height: 844, scale: 0.5 },
  ],
  ['turns a phone', 'phone', true, '1', { width: 844, height: 390, scale: 1 }],
  ['never enlarges a device', 'phone', true, 'auto', { width: 844, height: 390, scale: 600 / 844 }],
] as const)('%s', (_, device, isRotated, zoom, box) => {
  expect(frameBox(SPACE, device, isRotated, zoom)).toEqual(box);
});

test('gives a pane without a size a scale that can be drawn', () => {
  expect(frameBox({ width: 0, height: 0 }, 'desktop', false, 'auto').scale).toBe(1);
});
