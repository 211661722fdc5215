import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ALICE, PEOPLE } from '#test/host/support/people.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { Porthole } from '../../client/node/index.ts';

const APP = `require('node:http').createServer((request, response) => {
  if (request.url === '/old') return response.writeHead(302, { location: '/new' }).end();
  const body = [];
  request.on('data', (part) => body.push(part)).on('end', () =>
    response.end(request.method + ' ' + request.url + ' ' + Buffer.concat(body)));
}).listen(process.env.PORT);`;

describe('the front door of the library', () => {
  let host: TestHost;
  let porthole: Porthole;
  let folder: string;

  beforeAll(async () => {
    host = await startTestHost(PEOPLE);
    porthole = new Porthole({ url: `http://127.0.0.1:${host.host.port}`, apiKey: ALICE });
    folder = await mkdtemp(join(tmpdir(), 'porthole-front-door-'));
    await writeFile(join(folder, 'app.cjs'), APP);
    process.env['XDG_CACHE_HOME'] = join(folder, '.cache');
    await writeFile(join(folder, '.gitignore'), '.cache\n');
  });
  afterAll(async () => {
    await host.end();
    await rm(folder, { recursive: true });
  });

  test('shows a folder as a live preview in six lines, and fetches from it', async () => {
    const run = await porthole.run();
    await run.upload(folder);
    const server = await run.serve('exec node app.cjs', { port: 3000 });
    const preview = await server.preview();
    expect(preview.toString()).toMatch(/^http:\/\/[a-z0-9-]+-preview\.localhost:\d+$/);
    expect(inspect(preview)).toBe(preview.url);
    expect(JSON.stringify(preview)).not.toContain('preview.localhost');
    expect(await (await preview.fetch('/here?a=1')).text()).toBe('GET /here?a=1 ');
    expect(await (await preview.fetch('/', { method: 'POST', body: 'sent' })).text()).toBe('POST / sent');
    expect(await (await preview.fetch('/old')).text()).toBe('GET /new ');
    expect(await run.exec('echo "$((6 * 7))"').text()).toBe('42\n');
    expect((await porthole.run(run.id)).sandbox.id).toBe(run.sandbox.id);
  });

  test('says who has a shared run open', async () => {
    const run = await porthole.run();
    await run.share('view');
    expect(await run.viewers()).toEqual([]);
    await host.call('PUT', `/api/runs/${run.id}/viewers`, { token: ALICE });
    expect(await run.viewers()).toEqual([{ user: 'alice', is_you: true }]);
  });

  test('says what a failed server printed last', async () => {
    const run = await porthole.run();
    const server = await run.serve('echo "no module of that name" >&2; exit 1', {
      port: 3000,
      restart: 'never',
    });
    await expect(server.preview()).rejects.toMatchObject({
      code: 'server_failed',
      message: 'Server web-3000 failed. Its last lines:\n  no module of that name',
    });
  });

  test('asks the owner for a preview at the agent’s door', async () => {
    const run = await porthole.run();
    await run.serve(['node', '-e', APP], { port: 3000 });
    const agent = await new Porthole({
      url: `http://127.0.0.1:${host.host.port}`,
      apiKey: run.agentToken,
    }).agentRun(run.id);
    const opening = agent.preview(3000);
    for await (const event of run.events()) {
      if (event.type !== 'tool.approval_required') continue;
      await run.approve((event['data'] as { request_id: string }).request_id);
      break;
    }
    const preview = await opening;
    expect(await (await preview.fetch('/agent')).text()).toBe('GET /agent ');
    preview.letGo();
  });

  test('rejects a folder in a browser', async () => {
    const { Porthole: InBrowser } = await import('../../client/index.ts');
    const run = await new InBrowser({ url: `http://127.0.0.1:${host.host.port}`, apiKey: ALICE }).run();
    await expect(run.upload(folder)).rejects.toThrow('Folders can be uploaded from Node only');
    await run.upload({ 'hello.txt': 'hi' });
    expect(await run.files.text('hello.txt')).toBe('hi');
  });
});
