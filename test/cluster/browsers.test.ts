/** The browsers as infra/ runs them: their image in a pod of the restricted standard. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createGuestKeys, deriveKeySet } from '#protocol/guest/key-set.ts';
import { JwksSchema } from '#protocol/settings/shared-values.ts';
import { createRemotePages } from '#adapters/browser/remote-pages.ts';
import type { PageVisit } from '#core/pages/page-browser.ts';
import { SIGNING_KEYS, stackFile, values } from '#test/infra/support/stack-files.ts';
import { suite } from '#test/support/suite.ts';
import { browsersAccountPlan, browsersDeploymentPlan } from '../../infra/browsers.ts';
import { BROWSERS_PORT } from '../../infra/environment.plan.ts';
import { readStackConfig } from '../../infra/read-stack-config.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { imagesMissing, say, withBuilds } from './images/built-images.ts';
import { BROWSER_RECIPES } from './images/image-recipe.ts';

const namespace = `browsers-${randomBytes(4).toString('hex')}`;
const MINUTE = 60_000;

const PAGES: Readonly<Record<string, string>> = {
  '/': '<!doctype html><title>Shop</title><h1>Orders</h1><p>日本語 🎉</p><button>Add</button>',
  '/hangs': '<!doctype html><title>Hangs</title><script>for (;;);</script>',
  '/fills': `<!doctype html><title>Fills</title><script>const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1));</script>`,
};

suite('browsers in a cluster', missing() ?? imagesMissing(BROWSER_RECIPES), () => {
  let fixture: Cluster;
  let visit: (more?: Partial<PageVisit>) => ReturnType<ReturnType<typeof createRemotePages>['observe']>;
  const app = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGES[request.url ?? '']);
  });
  const kubectl = (args: readonly string[], stdin?: string) =>
    fixture.kubectl([`--namespace=${namespace}`, ...args], stdin);
  const apply = (object: object) => kubectl(['apply', '--filename=-'], JSON.stringify(object));
  const inside = (script: string) => kubectl(['exec', 'browsers', '--', 'sh', '-c', script]);

  beforeAll(async () => {
    fixture = await cluster();
    const image = await withBuilds(BROWSER_RECIPES, say, async ([build]) => {
      if (build === undefined) throw new Error('no build');
      if (!(await fixture.hasImage(build.reference))) await fixture.importImage(build.archive);
      return build.reference;
    });
    app.listen(0, fixture.hostAddress);
    await once(app, 'listening');
    const read = readStackConfig(
      values(
        stackFile({
          'porthole:namespaces': { functions: namespace },
          'porthole:browsers': { image, cpu: '100m', pages: 2 },
        }),
      ),
      () => true,
    );
    if (read.browsers === undefined) throw new Error('no browsers');
    const config = { ...read, browsers: read.browsers };
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });
    await apply({ apiVersion: 'v1', kind: 'ServiceAccount', ...browsersAccountPlan(config) });
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'browsers' },
      spec: { ...browsersDeploymentPlan(config).spec.template.spec, restartPolicy: 'Never' },
    });
    await kubectl(['wait', 'pod/browsers', '--for=condition=Ready', '--timeout=120s']);
    const address = await kubectl(['get', 'pod/browsers', '--output=jsonpath={.status.podIP}']);
    const pages = createRemotePages({
      url: new URL(`http://${address}:${BROWSERS_PORT}`),
      keys: createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(SIGNING_KEYS)))),
      failed: (reason) => say(`the browsers failed: ${reason}`),
    });
    const origin = `http://${fixture.hostAddress}:${(app.address() as AddressInfo).port}`;
    visit = (more = {}) =>
      pages.observe(
        {
          origin,
          path: '/',
          siblings: [],
          viewport: { width: 800, height: 600, scale: 1, mobile: false },
          steps: [],
          waitFor: undefined,
          picture: undefined,
          ...more,
        },
        'ada',
      );
  }, 15 * MINUTE);
  afterAll(async () => {
    app.close();
    await fixture?.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  test(
    'open a page, and take its picture',
    async () => {
      expect(await visit({ picture: { fullPage: false } })).toMatchObject({
        status: 200,
        facts: { title: 'Shop', text: expect.stringContaining('日本語') },
        outline: expect.stringContaining('button "Add"'),
        picture: { mediaType: 'image/png', width: 800, height: 600 },
      });
    },
    2 * MINUTE,
  );

  test(
    'end a page that hangs, and one that fills the memory, and open the next one',
    async () => {
      expect((await visit({ path: '/hangs' })).interruption).toBe('unresponsive');
      expect((await visit({ path: '/fills' })).interruption).not.toBeNull();
      expect(await visit()).toMatchObject({ interruption: null, facts: { title: 'Shop' } });
    },
    4 * MINUTE,
  );

  test('are a user without rights and without a token, who can write to /tmp alone', async () => {
    const script = `for each in / /opt/porthole /usr/local /home /var/lib /etc /tmp; do
      touch "$each/mark" 2>/dev/null && echo "$each"; done; id -u; grep CapEff /proc/self/status
      ls /var/run/secrets 2>/dev/null; env | grep -c -E 'SIGNING|DATABASE|API_KEY'; true`;
    expect((await inside(script)).trim().split(/\s+/)).toEqual([
      '/tmp',
      '10001',
      'CapEff:',
      '0000000000000000',
      '0',
    ]);
  });

  test('have fonts for most scripts', async () => {
    const fonts = await inside('fc-list : family');
    for (const font of ['Noto Sans CJK', 'Noto Color Emoji', 'Liberation Sans'])
      expect(fonts).toContain(font);
  });

  test(
    'leave no dead process behind, and end by themselves when they are asked to',
    async () => {
      // A running browser reaps its children; tini reaps the children of a killed one.
      const script = `for each in /proc/[0-9]*/status; do
        grep -q '^State:.Z' $each && grep -q '^PPid:.1$' $each && echo $each; done; true`;
      expect(await inside(script)).toBe('');
      // The command may end with its container, by SIGKILL.
      await inside('kill -TERM 1').catch((error: unknown) => {
        if (!String(error).includes('exit code 137')) throw error;
      });
      await kubectl(['wait', 'pod/browsers', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=90s']);
    },
    2 * MINUTE,
  );
});
