import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execCredentials } from '#adapters/kubernetes/client/exec-credentials.ts';
import { collection, SERVICES } from '#adapters/kubernetes/client/kubernetes-object.ts';
import { createKubernetesClient } from '#adapters/kubernetes/client/kubernetes-client.ts';
import { startFakeApiServer } from '#test/doubles/api-server/fake-api-server.ts';
import { inClusterAccess, isInCluster } from '#adapters/kubernetes/client/cluster-access.ts';
import { kubeconfigAccess, readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'porthole-access-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

describe('access from inside a cluster', () => {
  const ENV = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };

  test('uses the service account of the pod and reads its token again after a 401', async () => {
    write('ca.crt', 'an authority');
    write('token', 'first\n');
    const access = await inClusterAccess(ENV, folder);
    expect(access).toMatchObject({ server: 'https://10.0.0.1:443', ca: 'an authority' });
    expect(await access.token?.(false)).toBe('first');
    write('token', 'second\n');
    expect(await access.token?.(false)).toBe('first');
    expect(await access.token?.(true)).toBe('second');
    expect(await access.token?.(false)).toBe('second');
  });

  test('writes an IPv6 address as URLs have it', async () => {
    write('ca.crt', '');
    const access = await inClusterAccess({ ...ENV, KUBERNETES_SERVICE_HOST: 'fd00::1' }, folder);
    expect(access.server).toBe('https://[fd00::1]:443');
  });

  test('does not keep a token that could not be read', async () => {
    write('ca.crt', '');
    const access = await inClusterAccess(ENV, folder);
    await expect(access.token?.(false)).rejects.toThrow('ENOENT');
    write('token', 'late');
    expect(await access.token?.(false)).toBe('late');
  });

  test('says what is missing', async () => {
    expect(isInCluster({})).toBe(false);
    await expect(inClusterAccess({}, folder)).rejects.toThrow('name a kubeconfig file');
    expect(isInCluster(ENV)).toBe(true);
    await expect(inClusterAccess(ENV, folder)).rejects.toThrow('set automountServiceAccountToken');
  });
});

describe('access by a kubeconfig file', () => {
  const CONFIG = `
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: mine
  cluster: {server: "https://api.test:6443/", certificate-authority: ca.pem, tls-server-name: kubernetes}
users:
- name: me
  user: {client-certificate-data: ${btoa('a certificate')}, client-key-data: ${btoa('a key')}}
- name: robot
  user: {token: a-secret}
- name: plugged
  user: {auth-provider: {name: gcp}}
contexts:
- name: here
  context: {cluster: mine, user: me, namespace: previews}
- name: there
  context: {cluster: mine, user: robot}
- name: plugin
  context: {cluster: mine, user: plugged}
- name: nowhere
  context: {cluster: gone, user: me}
`;

  test('is as the present context says, files beside it included', async () => {
    write('ca.pem', 'an authority');
    const file = write('config', CONFIG);
    expect(await kubeconfigAccess({ KUBECONFIG: file })).toEqual({
      server: 'https://api.test:6443',
      ca: 'an authority',
      serverName: 'kubernetes',
      cert: 'a certificate',
      key: 'a key',
      namespace: 'previews',
    });
  });

  test('is as another context says, where one is named', async () => {
    write('ca.pem', '');
    const access = await readKubeconfig(write('config', CONFIG), 'there');
    expect(access.namespace).toBe('default');
    expect(await access.token?.(false)).toBe('a-secret');
  });

  test.each([
    ['nothing', 'has no context "nothing"; it knows here, there, plugin, nowhere.'],
    ['nowhere', 'has no cluster "gone"; it knows mine.'],
    ['plugin', 'User "plugged" of'],
  ])('says what is wrong with context %s', async (context, message) => {
    const file = write('config', CONFIG);
    await expect(readKubeconfig(file, context)).rejects.toThrow(message);
  });

  test('refuses to skip the check of the API server’s certificate', async () => {
    const file = write(
      'config',
      CONFIG.replace('certificate-authority: ca.pem', 'insecure-skip-tls-verify: true'),
    );
    await expect(readKubeconfig(file)).rejects.toThrow('name its authority as certificate-authority');
  });

  test('says what no kubeconfig is, without what it holds', async () => {
    const file = write('config', 'clusters: [{name: mine, cluster: {server: ftp://a-secret}}]');
    await expect(readKubeconfig(file)).rejects.toThrow('is no kubeconfig file');
    await expect(readKubeconfig(file)).rejects.not.toThrow('a-secret');
    mkdirSync(join(folder, 'empty'));
    await expect(readKubeconfig(join(folder, 'empty', 'none'))).rejects.toThrow('ENOENT');
  });
});

describe('access by an exec plugin', () => {
  /** A plugin that counts its runs, and prints the credential of the file `credential`. */
  const plugin = (script = 'cat "$FOLDER/credential"') => {
    const file = write('plugin', `#!/bin/sh\necho "$1 $KUBERNETES_EXEC_INFO" >> "$FOLDER/runs"\n${script}\n`);
    chmodSync(file, 0o755);
    return {
      name: 'cloud',
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './plugin',
        args: ['get-token'],
        env: [{ name: 'FOLDER', value: folder }],
        installHint: 'Install it from example.com.',
        interactiveMode: 'IfAvailable',
      },
    };
  };
  const prints = (status: object) => write('credential', JSON.stringify({ kind: 'ExecCredential', status }));
  const runs = () =>
    existsSync(join(folder, 'runs')) ? readFileSync(join(folder, 'runs'), 'utf8').trim().split('\n') : [];
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

  test('calls the API server with the token of the plugin, and runs it again after a 401', async () => {
    const server = await startFakeApiServer({ namespace: 'previews', now: () => new Date() });
    const { name, exec } = plugin();
    prints({ token: 'an-old-token', expirationTimestamp: inAnHour() });
    const file = write(
      'config',
      JSON.stringify({
        'current-context': 'eks',
        clusters: [{ name: 'c', cluster: { server: server.access.server } }],
        users: [{ name, user: { exec } }],
        contexts: [{ name: 'eks', context: { cluster: 'c', user: name } }],
      }),
    );
    const client = createKubernetesClient({ access: await readKubeconfig(file) });
    try {
      prints({ token: await server.access.token?.(false), expirationTimestamp: inAnHour() });
      await client.create(collection(SERVICES, 'previews'), {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'one' },
        spec: { clusterIP: 'None', ports: [{ port: 80, targetPort: 3000 }] },
      });
      await client.get(collection(SERVICES, 'previews'), 'one');
      expect(runs()).toHaveLength(2);
      expect(runs()[0]).toBe(
        'get-token {"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}',
      );
    } finally {
      client.close();
      await server.close();
    }
  });

  test('runs the plugin again for an expired token, and once for simultaneous requests', async () => {
    prints({ token: 'first', expirationTimestamp: new Date(0).toISOString() });
    const access = await execCredentials(plugin(), folder);
    prints({ token: 'second', expirationTimestamp: inAnHour() });
    const token = () => access.token?.(false) ?? Promise.reject(new Error('no token'));
    expect(await Promise.all([token(), token(), token()])).toEqual(['second', 'second', 'second']);
    expect(runs()).toHaveLength(2);
  });

  test('takes a client certificate', async () => {
    prints({ clientCertificateData: 'a certificate', clientKeyData: 'a key' });
    expect(await execCredentials(plugin(), folder)).toEqual({ cert: 'a certificate', key: 'a key' });
  });

  test.each([
    ['no JSON', 'echo a-secret', 'failed: it printed no ExecCredential. Install it from example.com.'],
    ['no status', `echo '{"token": "a-secret"}'`, 'failed: it printed no ExecCredential.'],
    ['no credential', `echo '{"status": {}}'`, 'printed neither a token nor a client certificate'],
    ['an error', 'echo "not signed in" >&2; exit 1', 'failed: not signed in. Install it'],
    ['nothing in time', 'exec sleep 2', 'failed: it did not end within 1 s.'],
  ])('says that the plugin printed %s, without what it printed', async (_what, script, message) => {
    const { message: said, cause } = await execCredentials(plugin(script), folder, 1_000).then(
      () => new Error('accepted'),
      (error: unknown) => error as Error,
    );
    expect(said).toContain(`The plugin ./plugin of user "cloud" ${message}`);
    expect(said + inspect(cause)).not.toContain('a-secret');
  });

  test('refuses a plugin that is not installed, asks questions, or has no command', async () => {
    const { name, exec } = plugin();
    const refused = (part: object) =>
      expect(execCredentials({ name, exec: { ...exec, ...part } }, folder)).rejects;
    await refused({ command: 'porthole-no-such-plugin' }).toThrow('it is not installed. Install it from');
    await refused({ interactiveMode: 'Always' }).toThrow('asks questions');
    await refused({ command: '' }).toThrow('has an invalid plugin');
    expect(runs()).toEqual([]);
  });
});
