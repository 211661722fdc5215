import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';

const BIN = join(import.meta.dirname, '../../client/bin.js');
const folder = mkdtempSync(join(tmpdir(), 'porthole-doctor-'));
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** `porthole doctor --gateway` as people run it. */
function doctor(words: readonly string[], kubeconfig: string) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env['PATH'] ?? '', KUBECONFIG: kubeconfig };
    execFile(process.execPath, [BIN, 'doctor', '--gateway', ...words], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** A kubeconfig of an API server that answers with these objects by path, and else with 404. */
async function cluster(objects: Readonly<Record<string, object | 403>>): Promise<string> {
  const server = createServer((request, response) => {
    const found = objects[new URL(request.url ?? '', 'http://cluster').pathname];
    if (typeof found === 'object') return response.end(JSON.stringify(found));
    const [code, reason] = found === 403 ? [403, 'Forbidden'] : [404, 'NotFound'];
    return response.writeHead(code).end(JSON.stringify({ kind: 'Status', code, reason, message: reason }));
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return kubeconfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function kubeconfig(server: string): string {
  const file = join(folder, `${servers.length}-${Date.now()}.json`);
  const config = {
    'current-context': 'here',
    clusters: [{ name: 'here', cluster: { server } }],
    users: [{ name: 'here', user: {} }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'here' } }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const API = '/apis/gateway.networking.k8s.io/v1';
const GATEWAY = {
  metadata: { namespace: 'agentweaver', name: 'agentweaver-preview-gateway' },
  spec: {
    gatewayClassName: 'traefik',
    listeners: [{ name: 'previews', hostname: '*.preview.test', port: 443, protocol: 'HTTPS' }],
  },
};
const AT = `${API}/namespaces/agentweaver/gateways/agentweaver-preview-gateway`;

test('names the setting if there is no cluster, no such context, or no Gateway API', async () => {
  const image = ['--image', 'node:24'];
  expect(await doctor(image, join(folder, 'none'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^porthole: There is no file .*none\. Set KUBECONFIG .*--context/),
  });
  const bare = await cluster({});
  expect(await doctor([...image, '--context', 'there'], bare)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/has no context "there"; it knows here\..*--context/),
  });
  expect(await doctor(image, bare)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^porthole: The cluster has no Gateway API: install .*--context\.\n$/),
  });
  const silent = await doctor(image, kubeconfig('http://127.0.0.1:1'));
  expect(silent).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/The API server http:\/\/127\.0\.0\.1:1 does not serve you .*KUBECONFIG/),
  });
}, 60_000);

test('names the setting if the Gateway, its listener, its address, the image or a right is missing', async () => {
  const image = ['--image', 'node:24'];
  const listed = { [API]: {}, [`${API}/gateways`]: { metadata: {}, items: [GATEWAY] } };
  const messages = [
    await doctor([], await cluster({ [API]: {} })),
    await doctor([...image, '--gateway-name', 'other'], await cluster(listed)),
    await doctor([...image, '--listener', 'web'], await cluster({ ...listed, [AT]: GATEWAY })),
    await doctor(image, await cluster({ ...listed, [AT]: GATEWAY })),
    await doctor(image, await cluster({ ...listed, [AT]: 403 })),
  ];
  expect(messages.map(({ code }) => code)).toEqual([1, 1, 1, 1, 1]);
  expect(messages.map(({ stderr }) => stderr)).toEqual([
    expect.stringMatching(/has no Deployment porthole to take the image from: set --image/),
    expect.stringMatching(
      /no Gateway agentweaver\/other: set --gateway-name .* shows agentweaver\/agentweaver-preview-gateway\.\n$/,
    ),
    expect.stringMatching(/has no HTTPS listener web; it has previews \(HTTPS\): set --listener/),
    expect.stringMatching(/has no address: .*--address/),
    expect.stringMatching(/does not serve you \(get gateways .*403.*your rights\.\n$/),
  ]);
}, 60_000);

test('prints JSON errors with --json, and refuses options that it does not know', async () => {
  const bare = await cluster({});
  const { stderr } = await doctor(['--json', '--image', 'node:24'], bare);
  expect(JSON.parse(stderr)).toEqual({ error: expect.stringMatching(/^The cluster has no Gateway API/) });
  for (const words of [['--hold', '3h'], ['--wait', 'soon'], ['--address', 'a b'], ['--nope']]) {
    expect([words, await doctor(words, bare)]).toEqual([
      words,
      expect.objectContaining({ code: 2, stdout: '' }),
    ]);
  }
  expect(await doctor(['--help'], bare)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('--hold TIME'),
  });
}, 60_000);
