import { request } from 'node:http';
import {
  type Answer,
  callBy,
  type Connect,
  startTestHost,
  type TestHost,
} from '#test/support/in-process-host.ts';
import { PAGE_REQUESTS, statusOf } from './access-matrix.ts';
import { ADA_ADMIN, ALICE, BOB, CAROL, PEOPLE } from './people.ts';
import { type MadeRun, makeRun, startPreview, type StartedPreview } from './runs.ts';

/** Answers with the headers that it gets; `/cached` allows caches; `/events` lasts. */
const APP = `
const { createHash } = require('node:crypto');
require('node:http').createServer((req, res) => {
  if (req.url === '/events') { res.writeHead(200, { 'content-type': 'text/event-stream' }); return res.write('data: 1\\n\\n'); }
  if (req.url === '/cached') res.setHeader('cache-control', 'public, max-age=60, s-maxage=600');
  res.setHeader('set-cookie', ['app=1', '__Host-porthole-view=of-the-app']);
  res.setHeader('x-porthole-viewer', 'said by the app');
  res.end(JSON.stringify({ app: true, headers: req.headers }));
}).on('upgrade', (req, socket) => {
  const accept = createHash('sha1').update(req.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
}).listen(Number(process.argv[1]), '127.0.0.1');`;

/** The answer of `POST /api/open`. */
export interface Entry {
  readonly ticket?: string;
  readonly needs?: string;
  readonly url?: string;
  readonly reason?: string;
  readonly remedy?: string;
}

/** A preview of alice's, and browsers that visit it with the sessions of people. */
export class PreviewVisitors {
  readonly porthole: TestHost;
  readonly run: MadeRun;
  /** Secrets that no log may contain. */
  readonly secrets: string[] = [];
  readonly sessions = new Map<string, string>();
  preview: StartedPreview;
  readonly #connect: Connect;

  private constructor(porthole: TestHost, run: MadeRun, preview: StartedPreview, connect: Connect) {
    this.porthole = porthole;
    this.run = run;
    this.preview = preview;
    this.#connect = connect;
  }

  /**
   * @param port of the app; sandboxes without isolation share the ports of the machine
   * @param connect to previews. @default those of `porthole`
   */
  static async start(port: number, porthole?: TestHost, connect?: Connect): Promise<PreviewVisitors> {
    porthole ??= await startTestHost(PEOPLE);
    const run = await makeRun(porthole, ALICE);
    const body = { argv: ['node', '-e', APP, String(port)], port };
    await porthole.call('PUT', `/v1/sandbox/${run.sandboxId}/servers/web`, { body, token: ALICE });
    const wait = { body: { timeout_ms: 60_000 }, token: ALICE };
    await porthole.call('POST', `/v1/sandbox/${run.sandboxId}/ports/${port}/wait`, wait);
    const preview = await startPreview(porthole, run.runId, port, ALICE);
    if (!preview.ready) throw new Error(`the app is not ready: ${preview.reason}`);
    const ownPort = porthole.host.port;
    const visitors = new PreviewVisitors(
      porthole,
      run,
      preview,
      connect ?? ((options) => request({ host: '127.0.0.1', port: ownPort, ...options })),
    );
    for (const key of [ALICE, BOB, CAROL, ADA_ADMIN]) {
      const { headers } = await porthole.call('POST', '/api/session', { body: { key } });
      visitors.sessions.set(key, cookieIn(headers['set-cookie']));
    }
    return visitors;
  }

  /** The name that the preview is visited by. @default its own host */
  name?: string;

  get connect(): Connect {
    return this.#connect;
  }

  get host(): string {
    const { host } = new URL(this.preview.preview_url ?? '');
    return this.name === undefined ? host : host.replace(/^[^.]*/, `${this.name}-preview`);
  }

  /** What `/open` is called with. */
  get #asked(): string {
    return this.name === undefined ? this.preview.session_id : (this.host.split(':')[0] ?? '');
  }

  api(method: string, path: string, body?: unknown, token: string = ALICE): Promise<Answer> {
    return this.porthole.call(method, `/v1/previews/${this.preview.session_id}${path}`, { token, body });
  }

  async setLevel(level: string, more: object = {}): Promise<void> {
    const { status, text } = await this.api('PUT', '/access', { level, ...more });
    if (status !== 200) throw new Error(`the level is not set: ${status} ${text}`);
  }

  /** What the page `/open` gets for the person of this key, or without one. */
  async open(key?: string, more: object = {}): Promise<Answer & { readonly entry: Entry }> {
    const cookie = key === undefined ? undefined : this.sessions.get(key);
    const answer = await this.porthole.call('POST', '/api/open', {
      body: { preview: this.#asked, ...more },
      headers: { origin: this.porthole.host.url, ...(cookie !== undefined && { cookie }) },
    });
    const entry = answer.json<Entry>();
    if (entry.ticket !== undefined) this.secrets.push(entry.ticket);
    return { ...answer, entry };
  }

  post(
    ticket: string,
    path = '/',
    host = this.host,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    return callBy(this.#connect, 'POST', '/.porthole/enter', {
      host,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams({ ticket, path }).toString(),
    });
  }

  /** The cookie of a browser that has entered. */
  async enter(key?: string, more: object = {}): Promise<string> {
    const { entry, text } = await this.open(key, more);
    if (entry.ticket === undefined) throw new Error(`no ticket: ${text}`);
    const cookie = cookieIn((await this.post(entry.ticket)).headers['set-cookie']);
    this.secrets.push(cookie.slice(cookie.indexOf('=') + 1));
    return cookie;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return callBy(this.#connect, 'GET', path, { host: this.host, headers });
  }

  /** The status of each kind of a page's requests, with a cookie or without one. */
  async statuses(cookie?: string): Promise<Record<string, number>> {
    const asked = Object.entries(PAGE_REQUESTS).map(async ([kind, options]) => {
      const headers = { host: this.host, ...options.headers, ...(cookie !== undefined && { cookie }) };
      return [kind, await statusOf(this.#connect({ agent: false, ...options, headers }))] as const;
    });
    return Object.fromEntries(await Promise.all(asked));
  }

  /** Whether the app answers. */
  async seen(headers: Readonly<Record<string, string>>): Promise<boolean> {
    return (await this.get('/', headers)).text.includes('"app":true');
  }
}

function cookieIn(setCookie: readonly string[] | undefined): string {
  return setCookie?.[0]?.split(';', 1)[0] ?? '';
}
