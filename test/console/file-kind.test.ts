import { describe, expect, test } from '@jest/globals';
import {
  bytesOf,
  isPdf,
  languageName,
  movedPath,
  pictureType,
  textOf,
} from '../../console/src/files/file-names.ts';

const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

describe('file kind', () => {
  test.each([
    ['a PNG', '\x89PNG\r\n\x1a\n....', 'image/png'],
    ['a JPEG', '\xff\xd8\xff\xe0', 'image/jpeg'],
    ['a GIF', 'GIF89a', 'image/gif'],
    ['a WebP', 'RIFF....WEBPVP8 ', 'image/webp'],
    ['an AVIF', '....ftypavif', 'image/avif'],
    ['an SVG is a document', '<svg xmlns="http://www.w3.org/2000/svg"/>', undefined],
    ['text that begins with BM', 'BM is short for bench mark', undefined],
  ])('detects: %s', (_, head, type) => {
    expect(pictureType(bytes(head))).toBe(type);
  });

  test.each([
    ['plain lines', 'a\nb\n', { text: 'a\nb\n', ends: '\n' }],
    ['lines of Windows', 'a\r\nb\r\n', { text: 'a\nb\n', ends: '\r\n' }],
    ['both', 'a\r\nb\n', { text: 'a\nb\n', ends: 'mixed' }],
    ['a NUL is no text', 'a\0b', undefined],
    ['half a character is no text', 'a\xc3', undefined],
  ])('detects: %s', (_, content, text) => {
    expect(textOf(bytes(content))).toEqual(text);
  });

  test('accepts a text sample that ends inside a UTF-8 character', () => {
    expect(textOf(bytes('a\xc3'), true)).toEqual({ text: 'a', ends: '\n' });
  });

  test.each(['a\nb\n', 'a\r\nb', '\xef\xbb\xbfwith a mark\r\n', ''])(
    'preserves %j when it is saved',
    (content) => {
      const { text, ends } = textOf(bytes(content)) ?? { text: 'none', ends: '\n' as const };
      expect(bytesOf(text, ends)).toEqual(bytes(content));
    },
  );
});

test.each([
  ['/workspace/src/App.TSX', 'tsx'],
  ['/workspace/Dockerfile', 'dockerfile'],
  ['/workspace/.env', 'env'],
  ['/workspace/a.b/c', 'c'],
])('names the language of %s', (path, name) => {
  expect(languageName(path)).toBe(name);
});

test.each([
  ['%PDF-1.7\n', true],
  ['text about %PDF-1.7', false],
  ['%PDF', false],
])('tells whether %j is a PDF', (head, is) => {
  expect(isPdf(bytes(head))).toBe(is);
});

test.each([
  ['/workspace/a', '/workspace/b/a'],
  ['/workspace/a/c.ts', '/workspace/b/a/c.ts'],
  ['/workspace/ab', undefined],
])('follows %s when its folder moves', (path, moved) => {
  expect(movedPath(path, '/workspace/a', '/workspace/b/a')).toBe(moved);
});
