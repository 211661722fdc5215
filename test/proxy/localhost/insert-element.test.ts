import { describe, expect, test } from '@jest/globals';
import { asksForPage, ElementInsertion, isPlainPage } from '#proxy/localhost/insert-element.ts';
import { LOCALHOST_SCRIPT, localhostElement } from '#proxy/localhost/localhost-script.ts';

/** The page with `[]` inserted, when it arrives in parts of this size. */
function inserted(page: string | Buffer, size: number): string {
  const insertion = new ElementInsertion('[]');
  const bytes = Buffer.from(page);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) parts.push(insertion.push(bytes.subarray(at, at + size)));
  return Buffer.concat([...parts, insertion.finish()]).toString();
}

describe('an inserted element', () => {
  test.each([
    ['<!doctype html><html lang="en"><head><meta charset="utf-8">', '<meta'],
    ['<!DOCTYPE html>\n<HTML>\n<HEAD class="a">\n  <title>', '<title'],
    ['\ufeff<!doctype html><title>é</title>', '<title'],
    ['<!-- a <head> --><!doctype html><head><script>', '<script'],
    ['<?xml version="1.0"?><html><body>', '<body'],
    ['<header>no head</header>', '<header'],
    ['<h1>no head</h1>', '<h1'],
    ['text', 'text'],
    ['a < b', 'a <'],
    ['<head', '<head'],
    ['<!-- open', '<!--'],
  ])('comes before what follows the head tag: %j', (page, next) => {
    const at = page.indexOf(next);
    const expected = `${page.slice(0, at)}[]${page.slice(at)}`;
    for (const size of [1, 2, 3, 7, 1_000]) expect(inserted(page, size)).toBe(expected);
  });

  test('is all of an empty page', () => {
    expect(inserted('', 1)).toBe('[]');
    expect(inserted('<!doctype html>\n', 1)).toBe('<!doctype html>\n[]');
  });

  test('holds back no more than what may come before it', () => {
    const insertion = new ElementInsertion('[]');
    expect(insertion.push(Buffer.from('<!doctype html><html>')).toString()).toBe('');
    expect(insertion.push(Buffer.from('<head><p>')).toString()).toBe('<!doctype html><html><head>[]<p>');
    expect(insertion.push(Buffer.from('<head><p>')).toString()).toBe('<head><p>');
  });

  test('leaves a page with a long comment first, and one in UTF-16, as they are', () => {
    const long = `<!--${'a'.repeat(20_000)}--><p>`;
    expect(inserted(long, 999)).toBe(long);
    const wide = Buffer.from('\ufeff<p>', 'utf16le');
    expect(Buffer.from(inserted(wide, 3))).toEqual(Buffer.from(wide.toString()));
  });
});

test.each([
  ['GET', { 'sec-fetch-mode': 'navigate', accept: '*/*' }, true],
  ['POST', { 'sec-fetch-mode': 'navigate' }, true],
  ['GET', { accept: 'text/html,*/*' }, true],
  ['GET', { 'sec-fetch-mode': 'cors', accept: 'text/html' }, false],
  ['GET', { accept: '*/*' }, false],
  ['HEAD', { 'sec-fetch-mode': 'navigate' }, false],
])('takes %s with %j for a request for a page: %s', (method, headers, expected) => {
  expect(asksForPage({ method, headers })).toBe(expected);
});

test.each([
  [200, ['Content-Type', 'text/html; charset=utf-8'], true],
  [500, ['content-type', 'TEXT/HTML'], true],
  [200, ['Content-Type', 'text/html', 'Content-Encoding', 'gzip'], false],
  [200, ['Content-Type', 'text/html; charset=UTF-16'], false],
  [200, ['Content-Type', 'application/json'], false],
  [200, [], false],
  [206, ['Content-Type', 'text/html'], false],
  [304, ['Content-Type', 'text/html'], false],
])('takes a %i with %j for a page: %s', (status, rawHeaders, expected) => {
  expect(isPlainPage({ status, rawHeaders })).toBe(expected);
});

describe('the script for localhost', () => {
  test('has at most 2 KiB', () => {
    expect(Buffer.byteLength(LOCALHOST_SCRIPT)).toBeLessThanOrEqual(2_048);
  });

  test('has the port of the page, and the nonce of its policy', () => {
    expect(localhostElement(3000, [])).toMatch(
      /^<script src="\/\.porthole\/localhost\.js\?[\da-f]{12}" data-port="3000"><\/script>$/,
    );
    expect(localhostElement(3000, ["script-src 'self'", "script-src 'nonce-r4nd+m='"])).toContain(
      ' nonce="r4nd+m="></script>',
    );
    expect(localhostElement(3000, [`script-src 'nonce-"><script>'`])).not.toContain('nonce');
  });
});
