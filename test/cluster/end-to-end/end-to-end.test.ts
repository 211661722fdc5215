import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { packVite, viteFolders } from '../../../examples/demo/pack-vite.ts';
import { projectFiles, unpackInto, VITE_PORT } from '../../../examples/demo/vite-sandbox.ts';
import { ANNOTATIONS, LABELS } from '#constructs/names.ts';
import { previewName } from '#core/previews/preview-token.ts';
import { suite } from '../../support/suite.ts';
import { type Cluster, cluster } from '../fixture/cluster.ts';
import { builtImages, imagesMissing } from '../images/built-images.ts';
import { deploy, type Deployed } from './deployed.ts';

/** Long enough for pods to start and images to load from disk while others use the machine. */
const PATIENT = 240_000;

interface Run {
  readonly run_id: string;
  readonly sandbox_id: string;
}

interface Started {
  readonly session_id: string;
  readonly preview_url: string;
  readonly keepalive_url: string;
  readonly pod_name: string;
  readonly expires_at: string;
  readonly ready: boolean;
  readonly reason?: string;
}

interface Reaped {
  readonly shown: object;
  readonly log: string;
}

/** A page at `/`, and an echo WebSocket at any path. */
const ECHO_SERVER = `
const { createHash } = require('node:crypto');
const server = require('node:http').createServer((request, response) => {
  response.end('the page of ' + request.url);
});
server.on('upgrade', (request, socket) => {
  const key = request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(key).digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
  socket.on('data', (frame) => {
    const length = frame[1] & 127;
    const text = Buffer.from(frame.subarray(6, 6 + length)).map((byte, at) => byte ^ frame[2 + (at % 4)]);
    if ((frame[0] & 15) === 8) socket.end();
    else socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
  });
});
server.listen(Number(process.argv[2]), '0.0.0.0', () => console.log('listening'));
`;

suite('Porthole on a cluster, through its Gateway', imagesMissing(), () => {
  let fixture: Cluster;
  let deployed: Deployed;
  let reaped: Promise<Reaped>;

  beforeAll(async () => {
    fixture = await cluster();
    const { functionHost, sandbox } = await builtImages(fixture);
    deployed = await deploy(fixture, { name: 'e2e', functionHostImage: functionHost, sandboxImage: sandbox });
    // The reaper comes once a minute: the other tests run meanwhile.
    reaped = expire();
    reaped.catch(() => undefined);
  }, 2 * PATIENT);
  afterAll(() => deployed?.destroy(), PATIENT);

  const startRun = () => deployed.api.call<Run>('POST', '/api/runs', {});
  const start = ({ run_id }: Run, port: number) =>
    deployed.api.call<Started>('POST', `/api/runs/${run_id}/sandbox/port-forward`, { target_port: port });
  const stop = ({ run_id }: Run, { session_id }: Started) =>
    deployed.api.call('DELETE', `/api/runs/${run_id}/sandbox/port-forward/${session_id}`);
  const page = async (url: string) => {
    const response = await deployed.client.fetch(url, { signal: AbortSignal.timeout(5_000) });
    return {
      status: response.status,
      porthole: response.headers.get('x-porthole-status'),
      text: await response.text(),
    };
  };
  /**
   * Polls the URL until it shows our page instead of the app's; the last request starts within this
   * many milliseconds.
   */
  const ownPage = async (url: string, withinMs: number) => {
    const began = performance.now();
    let shown = await page(url);
    while (shown.porthole === null && performance.now() - began < withinMs) {
      await pause(20);
      shown = await page(url);
    }
    return shown;
  };
  /** Starts the echo server on a port of the run's sandbox; resolves once it listens. */
  const serve = async ({ sandbox_id }: Run, port: number) => {
    await deployed.api.write(sandbox_id, 'echo.cjs', ECHO_SERVER);
    const script = `(node echo.cjs ${port} > echo-${port}.log 2>&1 &) ; until grep -sq listening echo-${port}.log; do sleep 0.1; done`;
    const { exitCode, output } = await deployed.api.exec(sandbox_id, ['sh', '-c', script]);
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' });
  };

  /** An expired preview: what its URL shows once the reaper has come, and the reaper's log. */
  const expire = async (): Promise<Reaped> => {
    const run = await startRun();
    await serve(run, 4200);
    const started = await start(run, 4200);
    const name = previewName(started.session_id);
    const route = [`httproute/${name}`, `--namespace=${deployed.namespaces.previews}`];
    await fixture.kubectl([
      'annotate',
      ...route,
      '--overwrite',
      `${ANNOTATIONS.expiresAt}=2020-01-01T00:00:00Z`,
    ]);
    // The reaper selects by label, and decides by the exact time.
    await fixture.kubectl(['label', ...route, `${LABELS.dueSlot}-`]);
    await fixture.kubectl(['wait', ...route, '--for=delete', '--timeout=150s']);
    return { shown: await ownPage(started.preview_url, 5_000), log: await deployed.logs('reaper') };
  };

  test('answers from two function pods behind the API host', async () => {
    const { status } = await page(`${deployed.api.url}/health`);
    expect(status).toBe(200);
    const pods = await fixture.kubectl([
      'get',
      'pods',
      `--namespace=${deployed.namespaces.functions}`,
      '--selector=app.kubernetes.io/component=functions',
      '--output=jsonpath={.items[*].status.containerStatuses[0].ready}',
    ]);
    expect(pods).toBe('true true');
  });

  test('shows our page for a host of the zone that names no preview', async () => {
    const token = `amber-otter-lake-${'a'.repeat(26)}`;
    expect(await page(`https://${token}-preview.${deployed.zone}/`)).toMatchObject({
      status: 404,
      porthole: 'unknown',
    });
    // A name can be guessed, so each answers as a preview that admits no one.
    expect(await page(`https://unknown-preview.${deployed.zone}/`)).toMatchObject({
      status: 401,
      porthole: 'access_required',
    });
  });

  test(
    'serves an agent’s server in a pod at its URL, WebSocket included, keeps it alive, and ends it when it is stopped',
    async () => {
      const run = await startRun();
      await serve(run, 4000);
      const started = await start(run, 4000);
      expect(started).toMatchObject({ ready: true, pod_name: `sandbox-${run.sandbox_id}` });
      expect(started.preview_url).toBe(`https://${started.session_id}-preview.${deployed.zone}`);
      // The first client after `ready`: neither 404 nor 503.
      expect(await page(`${started.preview_url}/hello`)).toMatchObject({
        status: 200,
        text: 'the page of /hello',
      });

      const socket = deployed.client.webSocket(`${started.preview_url.replace('https:', 'wss:')}/echo`);
      await once(socket, 'open');
      socket.send('is anybody there?');
      const [said] = (await once(socket, 'message')) as [Buffer];
      expect(said.toString()).toBe('is anybody there?');
      socket.close();
      await once(socket, 'close');

      await pause(1_100);
      await deployed.api.call('POST', started.keepalive_url);
      const again = await start(run, 4000);
      expect(again.session_id).toBe(started.session_id);
      expect(Date.parse(again.expires_at)).toBeGreaterThan(Date.parse(started.expires_at));

      await stop(run, started);
      const shown = await ownPage(`${started.preview_url}/hello`, 1_000);
      expect(shown).toMatchObject({ status: 410, porthole: 'stopped' });
    },
    PATIENT,
  );

  test(
    'does not call a preview ready before its server listens, and serves it as soon as it listens',
    async () => {
      const run = await startRun();
      const early = await start(run, 4100);
      expect(early).toMatchObject({ ready: false, reason: 'nothing_listens' });
      await serve(run, 4100);
      expect(await start(run, 4100)).toMatchObject({ ready: true, session_id: early.session_id });
      expect(await page(early.preview_url)).toMatchObject({ status: 200 });
    },
    PATIENT,
  );

  test(
    'loads Vite’s page and lets its hot-reload socket in, with no setting but the address to listen on',
    async () => {
      const folders = viteFolders();
      if (folders === undefined) throw new Error('Vite is not installed: run npm ci.');
      const run = await startRun();
      await unpackInto(deployed.api, run.sandbox_id, '', await packVite(folders));
      for (const [path, text] of projectFiles())
        await deployed.api.write(run.sandbox_id, `app/${path}`, text);
      const { exitCode, output } = await deployed.api.exec(run.sandbox_id, [
        'sh',
        '-c',
        '(node_modules/.bin/vite app --host > vite.log 2>&1 &); until grep -sq Local: vite.log; do sleep 0.2; done',
      ]);
      expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' });
      const started = await start(run, VITE_PORT);
      expect(started).toMatchObject({ ready: true });
      expect((await page(started.preview_url)).text).toContain('/@vite/client');
      const { text: viteClient } = await page(`${started.preview_url}/@vite/client`);
      const [, token] = /const wsToken = "([^"]+)"/.exec(viteClient) ?? [];
      const socket = deployed.client.webSocket(
        `${started.preview_url.replace('https:', 'wss:')}/?token=${token}`,
        ['vite-hmr'],
      );
      const [said] = (await once(socket, 'message')) as [Buffer];
      expect(JSON.parse(said.toString())).toEqual({ type: 'connected' });
      socket.terminate();
    },
    PATIENT,
  );

  test(
    'refuses a preview of a run without its sandbox, with the reason',
    async () => {
      const run = await startRun();
      await deployed.api.call('DELETE', `/v1/sandbox/${run.sandbox_id}`);
      await expect(start(run, 4000)).rejects.toMatchObject({ status: 409, code: 'no_bound_sandbox' });
    },
    PATIENT,
  );

  test(
    'reaps an expired preview in the CronJob’s pod, and the URL says so',
    async () => {
      const { shown, log } = await reaped;
      expect(shown).toMatchObject({ status: 410, porthole: 'expired' });
      expect(log).toContain('"reaped":1');
    },
    PATIENT,
  );

  test(
    'writes no preview token and no key to a log line of any pod',
    async () => {
      const run = await startRun();
      await serve(run, 4300);
      const { session_id } = await start(run, 4300);
      const said = (await deployed.logs('functions')) + (await deployed.logs('reaper'));
      expect(said).toContain('startPortForward');
      expect(said).not.toContain(session_id);
      expect(said).not.toContain('service-key-of-the-end-to-end-tests');
      expect(said).not.toContain('open-sesame');
    },
    PATIENT,
  );
});
