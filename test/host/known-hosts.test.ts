import { describe, expect, test } from '@jest/globals';
import { consoleOrigins, knownHosts } from '#host/server/known-hosts.ts';

const options = { listenHost: '::1', publicUrl: undefined, allowedHosts: ['box.example', 'no name'] };

describe('the origins of the console', () => {
  test('are the names of the listener', () => {
    expect(consoleOrigins(options, 8787)).toEqual([
      'http://localhost:8787',
      'http://127.0.0.1:8787',
      'http://box.example:8787',
    ]);
    for (const origin of consoleOrigins(options, 8787))
      expect(knownHosts(options)(new URL(origin).host)).toBe(true);
  });

  test('are the public one alone where one is configured', () => {
    const publicUrl = new URL('https://porthole.example/base');
    expect(consoleOrigins({ ...options, publicUrl }, 8787)).toEqual(['https://porthole.example']);
  });
});
