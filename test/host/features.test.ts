import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FEATURES, ROUTES, routesWithout } from '#handlers/features.ts';
import { readConfig } from '#host/config/config.ts';
import { OPTIONAL_FEATURES, type OptionalFeature } from '#protocol/settings/optional-features.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { serve } from './support/commands.ts';
import { editorOf } from './support/editor.ts';
import { makeRun, outcome, startPreview } from './support/runs.ts';

type Named = { readonly method: string; readonly path: string };
const nameOf = ({ method, path }: Named) => `${method} ${path}`;

/** The methods of each path, from the 405 of one that no route has: nothing is called. */
async function servedBy(porthole: TestHost): Promise<string[]> {
  const served: string[] = [];
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const answer = await porthole.call('OPTIONS', path.replace(/\{\w+\}/g, 'x'));
    expect([path, answer.status === 404 || answer.status === 405]).toEqual([path, true]);
    const allowed = (answer.headers['allow'] ?? '').split(', ');
    served.push(...allowed.filter((method) => method !== '').map((method) => nameOf({ method, path })));
  }
  // Some paths also match the template of another route.
  const all = ROUTES.map(nameOf);
  return served.filter((name) => all.includes(name)).toSorted();
}

async function documentedBy(porthole: TestHost): Promise<string[]> {
  const answer = await porthole.call('GET', '/v1/openapi.json');
  const { paths } = answer.json<{ paths: Record<string, Record<string, unknown>> }>();
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => nameOf({ method: method.toUpperCase(), path })),
    )
    .toSorted();
}

const askMcp = (porthole: TestHost, method: string, params: object = {}) =>
  porthole.call('POST', '/mcp', {
    body: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json' },
  });

async function toolsOf(porthole: TestHost): Promise<string[]> {
  const answer = await askMcp(porthole, 'tools/list');
  const { result } = answer.json<{ result: { tools: { name: string }[] } }>();
  return result.tools.map(({ name }) => name);
}

async function featuresOf(porthole: TestHost): Promise<unknown> {
  return (await porthole.call('GET', '/api/session')).json()['features'];
}

describe.each(OPTIONAL_FEATURES)('without the feature %s', (name) => {
  let porthole: TestHost;
  beforeAll(async () => {
    porthole = await startTestHost({ PORTHOLE_FEATURES_OFF: name });
  });
  afterAll(() => porthole.end());

  test('serves and documents all routes but those of the feature', async () => {
    const expected = routesWithout(new Set([name]))
      .map(nameOf)
      .toSorted();
    expect(expected.length).toBe(ROUTES.length - FEATURES[name].routes.length);
    expect(await servedBy(porthole)).toEqual(expected);
    expect(await documentedBy(porthole)).toEqual(expected);
  });

  test('answers the 404 of an unknown route to each route of the feature', async () => {
    for (const { method, path } of FEATURES[name].routes) {
      const at = path.replace(/\{\w+\}/g, 'x');
      const answer = await porthole.call(method, at);
      // As the bridge answers it.
      if (at.startsWith('/v1/sandbox/')) {
        expect([at, answer.status, answer.text]).toEqual([at, 404, '404 Not Found']);
        continue;
      }
      expect([at, ...outcome(answer)]).toEqual([at, 404, 'not_found']);
      expect(answer.json()['error']).toMatch(/^There is no route /);
    }
  });

  test('tells the console which features are on', async () => {
    expect(await featuresOf(porthole)).toEqual(OPTIONAL_FEATURES.filter((each) => each !== name));
  });

  test('still shows a server of a run', async () => {
    const run = await makeRun(porthole);
    await serve(porthole, run.sandboxId, 3100, 'still here');
    expect(await startPreview(porthole, run.runId, 3100)).toMatchObject({ ready: true });
    const doctor = await porthole.call('GET', `/api/runs/${run.runId}/sandbox/doctor?check=true`);
    expect(doctor.json()).toMatchObject({ sandbox: 'running', ports: [{ port: 3100, ready: true }] });
  });
});

describe('a feature that is off', () => {
  async function withHost(off: OptionalFeature | undefined, work: (porthole: TestHost) => Promise<void>) {
    const porthole = await startTestHost(off === undefined ? {} : { PORTHOLE_FEATURES_OFF: off });
    try {
      await work(porthole);
    } finally {
      await porthole.end();
    }
  }

  test('has no tools of MCP', async () => {
    let all: string[] = [];
    await withHost(undefined, async (porthole) => {
      all = await toolsOf(porthole);
    });
    expect(all).toEqual(expect.arrayContaining(['check', 'look', 'start_preview']));
    await withHost('pages', async (porthole) => {
      expect(await toolsOf(porthole)).toEqual(all.filter((tool) => tool !== 'check' && tool !== 'look'));
      const called = await askMcp(porthole, 'tools/call', { name: 'look', arguments: { port: 3000 } });
      expect(called.json()['error']).toMatchObject({ message: expect.stringMatching(/no tool "look"/) });
    });
  });

  test('opens no page in a browser', async () => {
    await withHost('pages', async (porthole) => {
      expect(porthole.host.services.pages.isInstalled()).toBe(false);
      const { runId } = await makeRun(porthole);
      const doctor = await porthole.call('GET', `/api/runs/${runId}/sandbox/doctor`);
      expect(doctor.json()['page_checks']).toBe(false);
    });
  });

  test('keeps what it has stored, and leaves it alone', async () => {
    let toolId = '';
    const first = await startTestHost();
    toolId = (await editorOf(first).makeTool('def run(i, c): return {}')).tool_id;
    await first.close();
    const { dataDir } = first;
    const second = await startTestHost({ PORTHOLE_FEATURES_OFF: 'editor' }, { dataDir });
    const { services } = second.host;
    const unread = () => Promise.reject(new Error('read'));
    services.records.toolRuns.failOverdue = unread;
    expect(await second.host.cleanSnapshots()).toEqual({ snapshots: 0, runs: 0, oldRuns: 0 });
    await second.close();
    const third = await startTestHost({}, { dataDir });
    expect((await editorOf(third).call('GET', `/tools/${toolId}`)).status).toBe(200);
    await third.end();
  });
});

test('takes several names, and refuses one that no feature has', () => {
  expect(readConfig({ PORTHOLE_FEATURES_OFF: ' mcp, editor,' }).featuresOff).toEqual(
    new Set(['mcp', 'editor']),
  );
  expect(() => readConfig({ PORTHOLE_FEATURES_OFF: 'editor,previews' })).toThrow(
    'must be names of bridge, e2b, editor, mcp, pages, separated by commas',
  );
});

test('needs no feature that can be off', () => {
  const needed = Object.values(FEATURES).flatMap(({ needs }) => needs);
  expect(needed.filter((name) => OPTIONAL_FEATURES.some((each) => each === name))).toEqual([]);
});
