import { describe, expect, test } from '@jest/globals';
import {
  currentPath,
  moveInHistory,
  openPath,
  readPath,
  START,
} from '../../console/src/previews/frame-history.ts';

const URL = 'https://token-preview.example.net/';

describe('the history of an address bar', () => {
  test('goes back and forward within the opened paths', () => {
    const opened = openPath(openPath(START, '/a'), '/b');
    expect(currentPath(moveInHistory(opened, -1))).toBe('/a');
    expect(currentPath(moveInHistory(opened, -9))).toBe('/');
    expect(currentPath(moveInHistory(moveInHistory(opened, -2), 1))).toBe('/a');
  });

  test('drops the paths ahead when another is opened', () => {
    const back = moveInHistory(openPath(openPath(START, '/a'), '/b'), -2);
    expect(openPath(back, '/c')).toEqual({ paths: ['/', '/c'], at: 1 });
  });

  test('keeps a bounded number of paths', () => {
    let history = START;
    for (let at = 0; at < 150; at += 1) history = openPath(history, `/${at}`);
    expect(history.paths).toHaveLength(100);
    expect(currentPath(history)).toBe('/149');
  });
});

test.each([
  ['/pricing', '/pricing'],
  ['pricing?a=b#c', '/pricing?a=b#c'],
  ['  /x ', '/x'],
  ['', '/'],
  ['https://token-preview.example.net/y?z', '/y?z'],
  ['/a/../b', '/b'],
  ['https://token-preview.example.net.evil.example/', undefined],
  ['http://token-preview.example.net/', undefined],
  ['//evil.example/x', undefined],
  ['/\\evil.example', undefined],
  ['javascript:alert(1)', undefined],
  ['data:text/html,x', undefined],
])('reads the typed address %j as %j', (typed, path) => {
  expect(readPath(typed, URL)).toBe(path);
});
