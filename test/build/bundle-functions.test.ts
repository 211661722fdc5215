import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ROUTES } from '#handlers/routes.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { type BuiltFunctions, builtFunctions } from '#test/support/built-functions.ts';
import { gatewayEvent } from '../host/serverless/gateway-events.ts';

let built: BuiltFunctions;

beforeAll(async () => {
  built = await builtFunctions();
}, 120_000);
afterAll(() => built?.remove());

/**
 * Runs a script in a new process, with the function's `handler`; returns its output, parsed as
 * JSON.
 */
async function fresh(
  id: string,
  script: string,
  env: Readonly<Record<string, string>> = { LOG_LEVEL: 'silent' },
): Promise<unknown> {
  const module = JSON.stringify(pathToFileURL(built.module(id)));
  const source = `const { handler } = await import(${module}); const print = (value) => console.log(JSON.stringify(value)); ${script}`;
  return JSON.parse(await command([process.execPath, '--input-type=module', '--eval', source], { env }));
}

interface Handed {
  readonly body: string;
}

/** All code that a function, or any function, may load, as one text. */
function contents(id?: string): string {
  const files = built.functions.flatMap((each) => (id === undefined || each.id === id ? each.files : []));
  return [...new Set(files)]
    .filter((file) => file.endsWith('.mjs'))
    .map((file) => built.read(file))
    .join('\n');
}

describe('function bundles', () => {
  test('contain one bundle for all routes, one per route, and one per schedule', () => {
    expect(built.functions.map(({ id, method, path }) => [id, method, path])).toEqual([
      ['router', undefined, undefined],
      ...ROUTES.map(({ id, method, path }) => [id, method, path]),
      ['reaper', undefined, undefined],
      ['lifecycle', undefined, undefined],
      ['snapshots-clean', undefined, undefined],
      ['warm-pool', undefined, undefined],
    ]);
  });

  test('list when the scheduled functions run', () => {
    expect(
      built.functions.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [[id, schedule]])),
    ).toEqual([
      ['reaper', '* * * * *'],
      ['lifecycle', '* * * * *'],
      ['snapshots-clean', '*/10 * * * *'],
      ['warm-pool', '* * * * *'],
    ]);
  });

  test('list the routes that stream and belong to the function host', () => {
    const streams = built.functions.flatMap((each) => (each.streams ? [each.id] : []));
    expect(streams).toEqual(expect.arrayContaining(['execCommand', 'readFile', 'writeFile']));
    expect(streams).toEqual(ROUTES.flatMap(({ id, streams: isStream }) => (isStream === true ? [id] : [])));
  });

  test('load without opening a connection or a server', async () => {
    const modules = built.functions.map(({ id }) => [id, pathToFileURL(built.module(id)).href]);
    const script = `const loaded = [];
      for (const [id, module] of ${JSON.stringify(modules)}) loaded.push([id, typeof (await import(module)).handler]);
      const early = process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|^(FS|Close)Req/.test(name));
      console.log(JSON.stringify({ loaded, early }));`;
    const printed = await command([process.execPath, '--input-type=module', '--eval', script]);
    expect(JSON.parse(printed)).toEqual({
      loaded: built.functions.map(({ id }) => [id, 'function']),
      early: [],
    });
  }, 120_000);

  const MARKS = { constructs: 'cdk8s.ApiObject', database: 'SCRAM-SHA-256', cluster: 'httproutes' };
  test.each([
    ['healthCheck', []],
    ['getHome', []],
    ['execCommand', []],
    ['startPortForward', ['constructs', 'database', 'cluster']],
    ['reaper', ['constructs', 'database', 'cluster']],
    ['lifecycle', ['constructs', 'database', 'cluster']],
  ])('bundle constructs, database and cluster code of %s only if it uses them: %j', (id, carried) => {
    const text = contents(id);
    expect(Object.entries(MARKS).flatMap(([name, mark]) => (text.includes(mark) ? [name] : []))).toEqual(
      carried,
    );
  });

  test('contain no module of the local host and no path of the build folder', () => {
    const all = contents();
    const root = join(import.meta.dirname, '../..');
    const unwanted = ['bwrap', 'journal_mode', 'FST_ERR_', root];
    expect(unwanted.filter((mark) => all.includes(mark))).toEqual([]);
  });

  test('leave what a request with a key does not use to chunks that are loaded on demand', () => {
    const folder = join(dirname(built.module('router')), 'chunks');
    const first = readdirSync(folder).filter((file) => /^(?:start|open)-.{8}\.mjs$/.test(file));
    expect(first.length).toBeGreaterThanOrEqual(2);
    const text = first.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
    const marks = {
      jose: 'ERR_JWS_INVALID',
      ret: 'Nothing to repeat',
      native: 'pg-native',
      migrations: 'sandboxes_by_owner',
      schemaBuilder: 'createType(',
      guestClient: 'its guest speaks version',
      visits: 'changedRatio',
      skills: 'SKILL.md names it',
      statusPages: 'prefers-color-scheme',
      variables: 'Port of the API',
    };
    expect(Object.values(marks).filter((mark) => text.includes(mark))).toEqual([]);
  });

  test('load the list of public suffixes only for rules of a network', () => {
    const folder = join(dirname(built.module('router')), 'chunks');
    const big = readdirSync(folder).filter((file) => /^network-rule-.{8}\.mjs$/.test(file));
    expect(big).toHaveLength(1);
    const importers = readdirSync(folder).filter((file) => {
      if (!file.endsWith('.mjs')) return false;
      return new RegExp(`from["'\`]\\./${big[0]}`).test(readFileSync(join(folder, file), 'utf8'));
    });
    // The chunk of the dynamic import itself.
    expect(importers.filter((file) => !file.startsWith('network-rule-'))).toEqual([]);
  });

  test('keep the streaming functions small', () => {
    expect(contents('execCommand').length).toBeLessThan(32_000);
  });
});

describe('a bundled function without a backend', () => {
  test.each([
    ['/health', 'application/json'],
    ['/runs/r-1', 'text/html; charset=utf-8'],
    ['/v1/openapi/assets/api-viewer.js', 'text/javascript; charset=utf-8'],
  ])('answers %s from the router', async (path, type) => {
    const script = `print(await handler(${JSON.stringify(gatewayEvent('GET', path))}))`;
    expect(await fresh('router', script)).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': type },
    });
  });

  test('answers the liveness probe', async () => {
    const event = gatewayEvent('GET', '/prod/health');
    expect(await fresh('healthCheck', `print(await handler(${JSON.stringify(event)}))`)).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'application/json', 'x-request-id': 'req-1' },
      body: '{"ok":true}',
      isBase64Encoded: false,
    });
  });

  test('serves the documentation files from its bundle', async () => {
    const event = gatewayEvent('GET', '/v1/openapi/assets/api-viewer.js');
    const result = (await fresh('getOpenApiAsset', `print(await handler(${JSON.stringify(event)}))`)) as {
      body: string;
      isBase64Encoded: boolean;
    };
    expect(result).toMatchObject({ statusCode: 200, isBase64Encoded: true });
    expect(Buffer.from(result.body, 'base64').toString()).toContain('createApiReference');
  });

  test('serves the console and its assets from its bundle', async () => {
    const asked = gatewayEvent('GET', '/runs/r-1', { headers: { 'accept-encoding': 'br' } });
    const env = {
      LOG_LEVEL: 'silent',
      PORTHOLE_PUBLIC_URL: 'https://p.example',
      Sandbox__Preview__ZoneSuffix: 'z.example',
    };
    const page = (await fresh('getRunPage', `print(await handler(${JSON.stringify(asked)}))`, env)) as Handed;
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
    const file = (await fresh('getConsoleAsset', `print(await handler(${JSON.stringify(event)}))`)) as Handed;
    expect(file).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'text/javascript; charset=utf-8' },
    });
    expect(Buffer.from(file.body, 'base64').toString()).toContain('Sign in');
  });

  test.each(['execCommand', 'readFile', 'writeFile'])('redirects %s to the function host', async (id) => {
    const { method = '', path = '' } = built.functions.find((each) => each.id === id) ?? {};
    const asked = path.replace('{id}', 's-1').replace('{path}', 'workspace/a.txt');
    const script = `process.env.PORTHOLE_PUBLIC_URL = 'https://porthole.example.com';
      print(await handler(${JSON.stringify(gatewayEvent(method, asked))}));`;
    expect(await fresh(id, script)).toMatchObject({
      statusCode: 501,
      body: expect.stringContaining(`https://porthole.example.com${asked}.`),
    });
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
  expect(await fresh('listRuns', script, { LOG_LEVEL: 'error' })).toEqual([
    500,
    expect.stringMatching(/PORTHOLE_PROVIDER: .*\n.*DATABASE_URL: .*\n.*SANDBOX_API_KEY: /),
  ]);
});
