import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { command } from '#test/cluster/fixture/command.ts';
import { builtFunctions } from '#test/support/built-functions.ts';
import { FUNCTIONS } from '../../build/bundle-functions.ts';
import { gatewayEvent } from '../host/serverless/gateway-events.ts';

let folder: string;

beforeAll(async () => {
  folder = await builtFunctions();
}, 120_000);

/** Runs a script in a new process, with the router's `handler`; returns its output, parsed. */
async function fresh(
  script: string,
  env: Readonly<Record<string, string>> = { LOG_LEVEL: 'silent' },
): Promise<unknown> {
  const module = JSON.stringify(pathToFileURL(join(folder, 'router.mjs')));
  const source = `const { handler } = await import(${module}); const print = (value) => console.log(JSON.stringify(value)); ${script}`;
  return JSON.parse(await command([process.execPath, '--input-type=module', '--eval', source], { env }));
}

const handlers = FUNCTIONS.map(({ handler }) => handler.split('.') as [string, string]);

/** All code of that folder, as one text. */
const contents = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');

describe('function bundles', () => {
  test('contain the functions that their list names', () => {
    expect(JSON.parse(readFileSync(join(folder, 'functions.json'), 'utf8'))).toEqual(FUNCTIONS);
    expect(readdirSync(folder).filter((file) => file.endsWith('.mjs'))).toEqual([
      'router.mjs',
      'scheduled.mjs',
    ]);
  });

  test('load without opening a connection or a server', async () => {
    const script = `const loaded = [];
      for (const [module, name] of ${JSON.stringify(handlers)}) {
        loaded.push(typeof (await import(${JSON.stringify(pathToFileURL(folder).href)} + '/' + module + '.mjs'))[name]);
      }
      const early = process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|^(FS|Close)Req/.test(name));
      console.log(JSON.stringify({ loaded, early }));`;
    const printed = await command([process.execPath, '--input-type=module', '--eval', script]);
    expect(JSON.parse(printed)).toEqual({ loaded: handlers.map(() => 'function'), early: [] });
  }, 120_000);

  test('contain no module of the local host and no path of the build folder', () => {
    const all = contents();
    const root = join(import.meta.dirname, '../..');
    const unwanted = ['bwrap', 'journal_mode', 'FST_ERR_', root];
    expect(unwanted.filter((mark) => all.includes(mark))).toEqual([]);
  });

  test('leave what a request with a key does not use to chunks that are loaded on demand', () => {
    const chunks = join(folder, 'chunks');
    const first = readdirSync(chunks).filter((file) => /^(?:start|open)-.{8}\.mjs$/.test(file));
    expect(first.length).toBeGreaterThanOrEqual(2);
    const text = first.map((file) => readFileSync(join(chunks, file), 'utf8')).join('\n');
    const marks = {
      jose: 'ERR_JWS_INVALID',
      guestClient: 'its guest speaks version',
      visits: 'changedRatio',
      skills: 'SKILL.md names it',
      statusPages: 'prefers-color-scheme',
    };
    expect(Object.values(marks).filter((mark) => text.includes(mark))).toEqual([]);
  });

  test('load the list of public suffixes only for rules of a network', () => {
    const chunks = join(folder, 'chunks');
    const big = readdirSync(chunks).filter((file) => /^network-rule-.{8}\.mjs$/.test(file));
    expect(big).toHaveLength(1);
    const importers = readdirSync(chunks).filter((file) => {
      if (!file.endsWith('.mjs')) return false;
      return new RegExp(`from["'\`]\\./${big[0]}`).test(readFileSync(join(chunks, file), 'utf8'));
    });
    // The chunk of the dynamic import itself.
    expect(importers.filter((file) => !file.startsWith('network-rule-'))).toEqual([]);
  });
});

describe('a bundled function without a backend', () => {
  test.each([
    ['/health', 'application/json'],
    ['/runs/r-1', 'text/html; charset=utf-8'],
    ['/v1/openapi/assets/api-viewer.js', 'text/javascript; charset=utf-8'],
  ])('answers %s from the router', async (path, type) => {
    const script = `print(await handler(${JSON.stringify(gatewayEvent('GET', path))}))`;
    expect(await fresh(script)).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': type },
    });
  });

  test('answers 404 to a route of a feature that is off', async () => {
    const statusOf = async (path: string) => {
      const script = `print((await handler(${JSON.stringify(gatewayEvent('GET', path))})).statusCode)`;
      return fresh(script, { LOG_LEVEL: 'silent', PORTHOLE_FEATURES_OFF: 'editor, mcp' });
    };
    expect([await statusOf('/tools'), await statusOf('/runs/r-1')]).toEqual([404, 200]);
  });

  test('serves the console and its assets from its bundle', async () => {
    const asked = gatewayEvent('GET', '/runs/r-1', { headers: { 'accept-encoding': 'br' } });
    const env = {
      LOG_LEVEL: 'silent',
      PORTHOLE_PUBLIC_URL: 'https://p.example',
      Sandbox__Preview__ZoneSuffix: 'z.example',
    };
    const page = (await fresh(`print(await handler(${JSON.stringify(asked)}))`, env)) as { body: string };
    expect(page).toMatchObject({
      statusCode: 200,
      headers: {
        'content-encoding': 'br',
        'content-security-policy': expect.stringContaining('frame-src https://*.z.example:*;'),
      },
    });
    const html = brotliDecompressSync(Buffer.from(page.body, 'base64')).toString();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
    const event = gatewayEvent('GET', script);
    const file = (await fresh(`print(await handler(${JSON.stringify(event)}))`)) as { body: string };
    expect(file).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'text/javascript; charset=utf-8' },
    });
    expect(Buffer.from(file.body, 'base64').toString()).toContain('Sign in');
  });
});

test('logs which environment variable is missing and answers 500 without details', async () => {
  const script = `const lines = [];
    process.stdout.write = ((write) => (text) => {
      if (text.startsWith('{"level"')) lines.push(JSON.parse(text));
      else write.call(process.stdout, text);
    })(process.stdout.write);
    const { statusCode } = await handler(${JSON.stringify(gatewayEvent('GET', '/api/runs'))});
    print([statusCode, lines[0].err.message]);`;
  expect(await fresh(script, { LOG_LEVEL: 'error' })).toEqual([
    500,
    expect.stringMatching(/PORTHOLE_PROVIDER: .*\n.*DATABASE_URL: .*\n.*SANDBOX_API_KEY: /),
  ]);
});
