import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { HotReloadPort } from '#proxy/hot-reload-port.ts';
import { fetchRaw, type GatewayFixture, type Listener, startApp, startGateway } from './gateway-fixture.ts';

const query = (host: string, port: string) =>
  `var q = "?protocol=ws%3A&hostname=${host}&port=${port}&pathname=%2Fws&logging=info&hot=true";`;

/** The query as webpack-dev-server 5 parses it: it splits at `&` and `=`. */
function socketOf(script: string): { host: string | undefined; port: string | undefined } {
  const parts = (/\?([^"]*)"/.exec(script)?.[1] ?? '').split('&').map((pair) => pair.split('='));
  const { hostname, port } = Object.fromEntries(parts) as Record<string, string | undefined>;
  return { host: hostname, port };
}

/** The rewritten script, if it arrives in these parts. */
function rewritten(parts: readonly string[], targetPort = 8080): string {
  const rewriter = new HotReloadPort(targetPort);
  const out = parts.map((part) => rewriter.push(Buffer.from(part, 'latin1')));
  return Buffer.concat([...out, rewriter.finish()]).toString('latin1');
}

describe('the port of a hot-reload client', () => {
  test.each([
    ['0.0.0.0', '8080', 8080],
    ['localhost', '3000', 3000],
    ['127.0.0.1', '65535', 65_535],
    ['%3A%3A', '80', 80],
  ])('becomes the page’s for webpack-dev-server on %s:%s', (host, port, targetPort) => {
    const script = query(host, port);
    const changed = rewritten([script], targetPort);
    expect(socketOf(changed)).toEqual({ host: host.startsWith('%') ? host : '0.0.0.0', port: '0' });
    expect(changed).toHaveLength(script.length);
    expect(changed).toContain('&pathname=%2Fws&logging=info&hot=true";');
  });

  test.each(['0.0.0.0', 'localhost', '127.0.0.1'])(
    'becomes the page’s for webpack-dev-server 6 on %s',
    (hostname) => {
      const spec = { protocol: 'ws:', hostname, port: 8080, pathname: '/ws' };
      const script = `var q = "?url=${encodeURIComponent(JSON.stringify(spec))}&transport=ws";`;
      const changed = rewritten([script]);
      expect(changed).toHaveLength(script.length);
      const [, url = ''] = /\?url=([^&]*)&transport=ws";$/.exec(changed) ?? [];
      expect(JSON.parse(decodeURIComponent(url))).toEqual({ ...spec, hostname: '0.0.0.0', port: 0 });
    },
  );

  test('becomes the page’s for Vite with a separate port', () => {
    expect(rewritten(['const hmrPort = 6006;\nnext'], 6006)).toBe('const hmrPort = 0   ;\nnext');
  });

  test.each([
    query('0.0.0.0', '8081'),
    '?protocol=ws%3A&hostname=0.0.0.0&port=8080',
    '?protocol=ws%3A&hostname=a b&port=8080&pathname=',
    'const hmrPort = null;',
    'const hmrPort = 3000;',
    `?protocol=${'x'.repeat(500)}`,
    'ends with ?proto',
    '',
  ])('stays in %s', (script) => {
    expect(rewritten([script])).toBe(script);
  });

  test('is found wherever the parts of a script are cut', () => {
    const script = `a${query('0.0.0.0', '8080')}const hmrPort = 8080;${'z'.repeat(300)}?protocol=`;
    const whole = rewritten([script]);
    expect(whole).toContain('hmrPort = 0   ;');
    for (let at = 0; at <= script.length; at += 1) {
      expect(rewritten([script.slice(0, at), script.slice(at, at + 7), script.slice(at + 7)])).toBe(whole);
    }
  });

  test('holds back no more than its longest text', () => {
    const rewriter = new HotReloadPort(8080);
    const part = Buffer.from('?protocol='.repeat(1_000));
    expect(part.length - rewriter.push(part).length).toBeLessThanOrEqual(160);
  });
});

describe('through a preview', () => {
  let app: Listener;
  let fixture: GatewayFixture;
  const seen: (string | undefined)[] = [];

  beforeAll(async () => {
    app = await startApp((req, res) => {
      seen.push(req.headers['accept-encoding']);
      const type = req.url?.startsWith('/page') ? 'text/html' : 'text/javascript';
      const body = query('0.0.0.0', String(app.port));
      const withLength = req.url?.includes('length') ? { 'Content-Length': String(body.length) } : {};
      res.writeHead(200, { 'Content-Type': type, ...withLength });
      res.write(body.slice(0, 20));
      res.end(body.slice(20));
    });
    fixture = await startGateway(app.port);
  });
  afterAll(async () => {
    await fixture.close();
    await app.close();
  });

  test.each(['/main.js', '/main.js?length'])(
    'scripts come plain and with the page’s port (%s)',
    async (path) => {
      const { body, raw } = await fetchRaw(fixture.port, fixture.previewHost, path, {
        'Accept-Encoding': 'gzip',
      });
      expect(seen.at(-1)).toBe('identity');
      expect(socketOf(body)).toEqual({ host: '0.0.0.0', port: '0' });
      expect(raw).toContain('hot=true";');
    },
  );

  test('recognizes a script without an extension by Sec-Fetch-Dest', async () => {
    const headers = { 'Sec-Fetch-Dest': 'script' };
    const { body } = await fetchRaw(fixture.port, fixture.previewHost, '/@client', headers);
    expect(socketOf(body).port).toBe('0');
  });

  test.each(['/page', '/page.js', '/@client'])('leaves what is not a script unchanged (%s)', async (path) => {
    const headers = { 'Accept-Encoding': 'gzip', 'Sec-Fetch-Dest': 'document' };
    const { body } = await fetchRaw(fixture.port, fixture.previewHost, path, headers);
    expect(seen.at(-1)).toBe('gzip');
    expect(socketOf(body).port).toBe(String(app.port));
  });
});
