import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
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
  user: {exec: {command: gke-gcloud-auth-plugin}}
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
