import { expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { greeting } from '#host/greeting.ts';

const STARTED = { url: 'http://127.0.0.1:8787', port: 8787, needsKey: false, seconds: 1 };
const TLS = { PORTHOLE_TLS_CERT: '/tls.crt', PORTHOLE_TLS_KEY: '/tls.key' };

/** The commands of a greeting, without what they do. */
const commandsOf = (started: Partial<typeof STARTED>, environment: Record<string, string> = {}) =>
  greeting({ ...STARTED, ...started }, readConfig(environment))
    .split('\n')
    .filter((line) => line.startsWith('    '))
    .map((line) => line.trim().replace(/ {2,}.*$/, ''));

test('leads to the documentation of the console, and to OpenAPI apart from it', () => {
  const text = greeting(STARTED, readConfig({}));
  expect(text).toMatch(/^ {2}Docs +http:\/\/127\.0\.0\.1:8787\/docs$/m);
  expect(text).toMatch(/^ {2}OpenAPI +http:\/\/127\.0\.0\.1:8787\/v1\/openapi$/m);
});

test('names the address in its commands only where they would not find it', () => {
  expect(commandsOf({})).toEqual(['npx porthole up ../my-app', 'npm run demo']);
  expect(commandsOf({ url: 'http://127.0.0.1:9000', port: 9000 })).toEqual([
    'PORTHOLE_URL=http://127.0.0.1:9000 npx porthole up ../my-app',
    'PORT=9000 npm run demo',
  ]);
  expect(
    commandsOf({ url: 'http://localhost:8787' }, { HOST: '::', SANDBOX_API_KEY: 'k'.repeat(32) }),
  ).toEqual(['npx porthole up ../my-app', 'npm run demo']);
  expect(commandsOf({ url: 'http://127.0.0.2:8787' }, { HOST: '127.0.0.2' })).toEqual([
    'PORTHOLE_URL=http://127.0.0.2:8787 npx porthole up ../my-app',
    'HOST=127.0.0.2 npm run demo',
  ]);
});

test('asks for a key in both commands, each by the variable that it reads', () => {
  expect(commandsOf({ needsKey: true })).toEqual([
    'PORTHOLE_API_KEY=<key> npx porthole up ../my-app',
    'SANDBOX_API_KEY=<key> npm run demo',
  ]);
});

test('leaves out the demo with TLS, which it does not speak', () => {
  const publicUrl = { PORTHOLE_PUBLIC_URL: 'https://porthole.example.com' };
  expect(commandsOf({ needsKey: true }, { ...TLS, ...publicUrl })).toEqual([
    'PORTHOLE_URL=https://porthole.example.com PORTHOLE_API_KEY=<key> npx porthole up ../my-app',
  ]);
});
