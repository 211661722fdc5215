import { expect, test } from '@jest/globals';
import { strangeHost } from '../../console/src/previews/strange-host.ts';

test.each([
  ['127.0.0.1', 'localhost'],
  ['localhost', '127.0.0.1'],
  ['[::1]', '127.0.0.1'],
  ['porthole.example.test', '127.0.0.1'],
])('of a console at %s a preview on a port of its own is at %s', (own, host) => {
  expect(strangeHost(own)).toBe(host);
});
