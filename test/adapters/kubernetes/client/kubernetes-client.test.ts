import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { collection, HTTP_ROUTES, SERVICES, pointer } from '#adapters/kubernetes/client/kubernetes-object.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import type { KubernetesError } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { type FakeApiServer, startFakeApiServer } from '#test/doubles/api-server/fake-api-server.ts';
import { recordTracing } from '#test/doubles/recorded-tracing.ts';
import { collect } from '#test/support/collect.ts';

const services = collection(SERVICES, 'previews');
const routes = collection(HTTP_ROUTES, 'previews');

function service(name: string, labels: Record<string, string> = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels },
    spec: { clusterIP: 'None', ports: [{ port: 80, targetPort: 3000 }] },
  };
}

describe('the Kubernetes client', () => {
  let server: FakeApiServer;
  let client: KubernetesClient;
  beforeEach(async () => {
    server = await startFakeApiServer({ namespace: 'previews', now: () => new Date() });
    client = createKubernetesClient({ access: server.access, tryTimeoutMs: 1_000 });
  });
  afterEach(async () => {
    client.close();
    await server.close();
  });
  const failure = async (call: Promise<unknown>) =>
    call.then(
      () => undefined,
      (error: KubernetesError) => ({ status: error.status, reason: error.reason, inDoubt: error.inDoubt }),
    );

  test('names what the API server answers', async () => {
    await client.create(services, service('one'));
    expect(await failure(client.create(services, service('one')))).toEqual({
      status: 409,
      reason: 'AlreadyExists',
      inDoubt: false,
    });
    expect(await failure(client.get(services, 'two'))).toMatchObject({ status: 404, reason: 'NotFound' });
    expect(await failure(client.create(services, service('UPPER')))).toMatchObject({ reason: 'Invalid' });
  });

  test('has a span of each call, without the name of an object', async () => {
    const { spans, end } = recordTracing();
    try {
      await client.create(services, service('one'));
      await failure(client.get(services, 'two'));
    } finally {
      end();
    }
    const span = (method: string, status: number, failed: boolean) => ({
      name: `${method} services`,
      attributes: {
        'http.request.method': method,
        'porthole.kubernetes.resource': 'services',
        'http.response.status_code': status,
      },
      failed,
    });
    expect(spans).toEqual([span('POST', 201, false), span('GET', 404, true)]);
  });

  test('changes what a test lets it change, and nothing else', async () => {
    await client.create(services, service('one', { color: 'red' }));
    const path = pointer('metadata', 'labels', 'color');
    const paint = (from: string, to: string) =>
      client.jsonPatch(services, 'one', [
        { op: 'test', path, value: from },
        { op: 'replace', path, value: to },
      ]);
    expect(await paint('red', 'blue')).toMatchObject({ metadata: { labels: { color: 'blue' } } });
    expect(await failure(paint('red', 'green'))).toMatchObject({ status: 422 });
  });

  test('merges a change, once where it names the version it has seen', async () => {
    const { metadata } = await client.create(services, service('one', { color: 'red' }));
    const paint = (color: string, resourceVersion?: string) =>
      client.mergePatch(services, 'one', {
        metadata: { labels: { color }, ...(resourceVersion && { resourceVersion }) },
      });
    expect(await paint('blue', metadata.resourceVersion)).toMatchObject({
      metadata: { labels: { color: 'blue' } },
    });
    expect(await failure(paint('green', metadata.resourceVersion))).toMatchObject({ reason: 'Conflict' });
    expect(server.calls.filter(({ verb }) => verb === 'patch')).toHaveLength(2);
    expect(await paint('green')).toMatchObject({ metadata: { labels: { color: 'green' } } });
  });

  test('deletes only what the preconditions name', async () => {
    const { metadata } = await client.create(services, service('one'));
    const { uid, resourceVersion } = metadata;
    expect(await client.delete(services, 'one', { uid: 'another' })).toBe(false);
    expect(await client.delete(services, 'one', { uid, resourceVersion: '1' })).toBe(false);
    expect(await client.delete(services, 'one', { uid, resourceVersion })).toBe(true);
    expect(await client.delete(services, 'one', { uid })).toBe(false);
  });

  test('keeps at most eight deletions under way', async () => {
    for (let index = 0; index < 30; index += 1) await client.create(services, service(`s${index}`));
    let under = 0;
    let most = 0;
    server.fault = ({ verb }) => {
      if (verb === 'delete') most = Math.max(most, (under += 1));
      return undefined;
    };
    const deletions = Array.from({ length: 30 }, async (_, index) => {
      await client.delete(services, `s${index}`);
      under -= 1;
    });
    await Promise.all(deletions);
    expect(most).toBeLessThanOrEqual(8);
    expect(server.store.all('services')).toEqual([]);
  });

  describe('listing', () => {
    beforeEach(async () => {
      for (let index = 10; index < 35; index += 1) {
        await client.create(services, service(`s${index}`, { parity: index % 2 === 0 ? 'even' : 'odd' }));
      }
    });
    const names = async (query: Parameters<KubernetesClient['list']>[1]) =>
      (await collect(client.list(services, query))).map(({ metadata }) => metadata.name);
    const all = Array.from({ length: 25 }, (_, index) => `s${index + 10}`);

    test('reads page after page', async () => {
      expect(await names({ limit: 10 })).toEqual(all);
      expect(server.calls.filter(({ verb }) => verb === 'list')).toHaveLength(3);
    });

    test('selects by labels, and leaves spec out where it is asked to', async () => {
      const even = await collect(client.list(services, { labelSelector: 'parity=even', metadataOnly: true }));
      expect(even).toHaveLength(13);
      expect(even.every((object) => !('spec' in object))).toBe(true);
    });

    test.each([true, false])('survives a page that expires (another offered: %j)', async (offered) => {
      const seen: string[] = [];
      for await (const { metadata } of client.list(services, { limit: 10 })) {
        seen.push(metadata.name);
        if (seen.length === 10) server.store.expireContinues(offered);
      }
      expect(seen).toEqual(all);
    });

    test('gives up on pages that keep expiring', async () => {
      server.fault = ({ verb }) => {
        if (verb === 'list') server.store.expireContinues(false);
        return undefined;
      };
      expect(await failure(names({ limit: 10 }))).toMatchObject({ status: 410 });
    });
  });

  test('is in doubt about a lost answer, and not about a server that is not there', async () => {
    server.fault = () => ({ kind: 'reset', committed: true });
    expect(await failure(client.create(services, service('one')))).toEqual({
      status: 0,
      reason: 'NoAnswer',
      inDoubt: true,
    });
    expect(server.calls).toHaveLength(1);
    const unreachable = createKubernetesClient({ access: { server: 'http://127.0.0.1:1' } });
    expect(await failure(unreachable.create(services, service('one')))).toEqual({
      status: 0,
      reason: 'NoAnswer',
      inDoubt: false,
    });
    unreachable.close();
  });

  test('is in doubt about a call that took over the connection of another and lost its answer', async () => {
    const narrow = createKubernetesClient({ access: server.access, connections: 1 });
    server.fault = ({ verb }) => (verb === 'create' ? { kind: 'reset', committed: true } : undefined);
    const before = failure(narrow.get(services, 'one'));
    const after = failure(narrow.create(services, service('one')));
    expect(await before).toMatchObject({ status: 404 });
    expect(await after).toEqual({ status: 0, reason: 'NoAnswer', inDoubt: true });
    narrow.close();
  });

  test('rejects with the reason of the abort', async () => {
    server.fault = () => ({ kind: 'silence', committed: false });
    const caller = new AbortController();
    const call = client.get(routes, 'one', caller.signal);
    caller.abort(new Error('gone home'));
    await expect(call).rejects.toThrow('gone home');
    await expect(client.get(routes, 'one', caller.signal)).rejects.toThrow('gone home');
  });

  test('requests a new token once after a 401, and logs neither token', async () => {
    const asked: boolean[] = [];
    const good = (await server.access.token?.(false)) ?? '';
    const rotating = createKubernetesClient({
      access: {
        ...server.access,
        token: async (refresh) => {
          asked.push(refresh);
          return refresh ? good : 'an-old-secret';
        },
      },
    });
    await rotating.create(services, service('one'));
    expect(asked).toEqual([false, true]);
    const refused = createKubernetesClient({
      access: { ...server.access, token: async () => 'an-old-secret' },
    });
    const error = await refused.get(services, 'one').catch((reason: unknown) => reason as KubernetesError);
    expect(error).toMatchObject({ status: 401, reason: 'Unauthorized' });
    expect(JSON.stringify([error, (error as Error).message, (error as Error).stack])).not.toContain('secret');
    rotating.close();
    refused.close();
  });

  test('repeats no preview token that the API server repeats', async () => {
    const token = 'calm-blue-otter-abcdefghijklmnopqrstuvwxyz';
    const route = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'one' },
      spec: { hostnames: [`${token}-preview.preview_test`] },
    };
    const error = await client.create(routes, route).catch((reason: unknown) => reason as Error);
    expect((error as Error).message).toContain('spec.hostnames');
    expect((error as Error).message).not.toContain(token);
  });

  test('takes an answer that is no JSON for none', async () => {
    const proxy = createServer((_req, res) => res.end('<html>')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const behind = createKubernetesClient({ access: { server: `http://127.0.0.1:${port}` } });
    expect(await failure(behind.get(services, 'one'))).toMatchObject({ status: 0, reason: 'NoAnswer' });
    behind.close();
    proxy.closeAllConnections();
    proxy.close();
  });
});
