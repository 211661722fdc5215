import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { readMachineTools } from '#adapters/egress/machine-tools.ts';
import { NO_PROXIES } from '#adapters/egress/machine-proxies.ts';
import { NetworkBroker } from '#adapters/egress/network-broker.ts';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { NO_NETWORK } from '#core/network/network-policy.ts';
import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { NETWORK } from '#protocol/guest/network.ts';
import { atLeast, type BenchResult, compare, estimate, interleave, single, startWorker } from './measure.ts';
import { openLink, THERE } from './network-link.ts';
import { BODY_BYTES } from './preview/body.ts';
import { withGuests } from '#test/support/with-guests.ts';

export interface NetworkBenchOptions {
  readonly rounds?: number;
  /** Busy connections of one sandbox at once. */
  readonly connections?: number;
  /** Seconds for which they are busy. */
  readonly seconds?: number;
}

const run = promisify(execFile);
/** Address of the server, which a sandbox may reach; no other address of loopback. */
const OUTSIDE = '127.0.0.2';
const NAME = 'api.example.com';
/** The server behind the link. */
const FAR = 'far.example.com';
/** Speeds of the link, in Gbit/s. */
const LINKS = [1, 2.5, 10];
const GOAL = atLeast(0.8);
/** New connections of one round. */
const REQUESTS = 10;
/** The goal of the time from the request for a connection to the first byte. */
const MAX_FIRST_BYTE_MS = 50;

/** Opens `count` tunnels, requests in a loop on each, and ends after `seconds`. */
const BUSY = `
const [port, count, seconds] = process.argv.slice(1).map(Number);
let open = 0, answers = 0;
for (let i = 0; i < count; i += 1) {
  const tunnel = require('http').request({ port: ${NETWORK.port}, method: 'CONNECT', path: '${NAME}:' + port });
  tunnel.once('connect', (_, socket) => {
    open += 1;
    if (open === count) console.log('open');
    const ask = () => socket.write('GET / HTTP/1.1\\r\\nHost: ${NAME}\\r\\n\\r\\n');
    socket.on('data', () => { answers += 1; ask(); });
    ask();
  }).on('error', (error) => { console.error(error); process.exit(1); }).end();
}
setTimeout(() => process.exit(open === count && answers > count ? 0 : 2), seconds * 1_000);`;

/**
 * Connections of a real sandbox through the broker, beside the same ones without either: time to
 * the first byte, throughput, and the first byte of one sandbox while another one is busy.
 */
export async function benchNetwork({
  rounds = 15,
  connections = 500,
  seconds = 15,
}: NetworkBenchOptions = {}): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
  const upstream = await startWorker<number>(new URL('./preview/upstream.ts', import.meta.url), [
    '0',
    OUTSIDE,
  ]);
  const port = upstream.ready;
  const link = process.geteuid?.() === 0 ? await openLink() : undefined;
  const far =
    link &&
    (await startWorker<number>(
      new URL('./preview/upstream.ts', import.meta.url),
      [String(port), THERE],
      process.execArgv,
      link.prefix,
    ));
  const provider = withGuests(createLocalProvider({ dataDir: folder, tools: readMachineTools({}) }));
  const broker = new NetworkBroker({
    presets: [],
    permitted: [`${OUTSIDE}/32`, `${THERE}/32`],
    proxies: NO_PROXIES,
    resolve: (name) => Promise.resolve([name === FAR ? THERE : OUTSIDE]),
    policyOf: () =>
      Promise.resolve({
        ...NO_NETWORK,
        mode: 'allowlist',
        allow: [NAME, FAR].map((host) => ({ host, ports: [port] })),
      }),
    secretsOf: () => Promise.resolve(NO_SECRETS),
    certificates: undefined,
    ask: () => Promise.resolve('not asked'),
    attempted: () => undefined,
    hint: () => '',
  });
  await provider.serveChannels({ calls: () => createServer(), network: (id) => broker.serverFor(id) });
  const [quiet, busy] = ['aaaaaaaaaaaaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbbbbbbbbbbbb'] as const;
  const inside = async (id: string, argv: readonly [string, ...string[]]) => {
    const process = await provider.exec(id, { argv });
    const [out, err, { code }] = await Promise.all([
      text(process.stdout),
      text(process.stderr),
      process.exited,
    ]);
    if (code !== 0) throw new Error(`${argv[0]} ended with ${code}: ${err}`);
    return out;
  };
  const curl = (format: string, urls: readonly string[]): [string, ...string[]] => [
    'curl',
    '-sSp',
    '-w',
    `%{${format}}\n`,
    '-H',
    'Connection: close',
    ...urls.flatMap((url) => ['-o', '/dev/null', url]),
  ];
  const url = (host: string, path = '/') => `http://${host}:${port}${path}`;
  const mean = (output: string): number => {
    const values = output.trim().split('\n').map(Number);
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const through = async (words: [string, ...string[]]) => mean(await inside(quiet, words));
  const direct = async ([program, ...args]: [string, ...string[]]) => mean((await run(program, args)).stdout);
  const pages = (host: string) => Array.from({ length: REQUESTS }, () => url(host));
  const firstByte = async () => (await through(curl('time_starttransfer', pages(NAME)))) * 1_000;
  /** The throughput of a program in the sandbox, and of the same one here. */
  const throughput = (within: [string, ...string[]], here: [string, ...string[]]) =>
    interleave({ broker: () => through(within), direct: () => direct(here) }, rounds);
  const download = (host: string) => curl('speed_download', [url(host, '/body')]);
  try {
    for (const id of [quiet, busy]) await provider.create({ id });
    await firstByte();
    const first = await interleave(
      {
        broker: firstByte,
        direct: async () => (await direct(curl('time_starttransfer', pages(OUTSIDE)))) * 1_000,
      },
      rounds,
    );
    const bytes = await throughput(download(NAME), download(OUTSIDE));

    const links: BenchResult[] = [];
    await inside(quiet, ['sh', '-c', `head -c ${BODY_BYTES} /dev/zero > /tmp/body`]);
    await writeFile(join(folder, 'body'), Buffer.alloc(BODY_BYTES));
    const upload = (host: string, file: string): [string, ...string[]] => [
      ...curl('speed_upload', [url(host, '/upload')]),
      '-H',
      'Expect:',
      '-T',
      file,
    ];
    for (const gigabits of link === undefined ? [] : LINKS) {
      await link?.limit(gigabits);
      const down = await throughput(download(FAR), download(THERE));
      const up = await throughput(upload(FAR, '/tmp/body'), upload(THERE, join(folder, 'body')));
      for (const [way, figures] of Object.entries({ down, up })) {
        const name = `100 MB ${way} over a link of ${gigabits} Gbit/s, through the broker / direct`;
        links.push(compare(name, figures, ['broker', 'direct'], 'B/s', GOAL));
      }
    }

    const load = await provider.exec(busy, {
      argv: ['node', '-e', BUSY, String(port), String(connections), String(seconds)],
    });
    const loadErrors = text(load.stderr);
    await once(load.stdout, 'data');
    const progress = { isOver: false };
    const ended = load.exited.finally(() => (progress.isOver = true));
    const loaded: number[] = [];
    do loaded.push(await firstByte());
    while (!progress.isOver);
    const { code } = await ended;
    if (code !== 0) throw new Error(`the busy sandbox ended with ${code}: ${await loadErrors}`);

    const alone = estimate(first.broker).median;
    return [
      single(
        'request to first byte through the broker',
        estimate(first.broker).high,
        'ms',
        MAX_FIRST_BYTE_MS,
        {
          'direct, ms': estimate(first.direct).median,
        },
      ),
      ...links,
      compare(
        '100 MB down on loopback, through the broker / direct',
        bytes,
        ['broker', 'direct'],
        'B/s',
        GOAL,
      ),
      single(
        `first byte while another sandbox has ${connections} busy connections`,
        estimate(loaded).median,
        'ms',
        MAX_FIRST_BYTE_MS,
        { 'alone, ms': alone, longest: Math.max(...loaded) },
      ),
    ];
  } finally {
    for (const id of [quiet, busy]) await provider.destroy(id);
    await provider.close();
    broker.close();
    await upstream.stop();
    await far?.stop();
    await link?.close();
    await rm(folder, { recursive: true, force: true });
  }
}
