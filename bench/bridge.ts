import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { startHostProcess } from '#test/support/host-process.ts';
import {
  ask,
  atLeast,
  atMost,
  type BenchResult,
  compare,
  interleave,
  startWorker,
  timed,
} from './measure.ts';

export interface BridgeBenchOptions {
  /** Maximum number of warm-up rounds. */
  readonly warmUp?: number;
  /** Pairs of commands. */
  readonly pairs?: number;
  /** Pairs of transfers of megabytes. */
  readonly rounds?: number;
  /** Size of stdout; uploads are half of it. */
  readonly mebibytes?: number;
  /** Number of files in the archived tree. */
  readonly files?: number;
}

const MIB = 1 << 20;

/**
 * The sandbox bridge on one machine: commands against plain processes, transfers against a file or
 * a bare server, archives against GNU tar.
 */
export async function benchBridge({
  warmUp = 20,
  pairs = 300,
  rounds = 25,
  mebibytes = 64,
  files = 2_000,
}: BridgeBenchOptions = {}): Promise<BenchResult[]> {
  // Transfers of megabytes need fewer warm-up rounds than commands.
  const fewWarmUps = Math.min(warmUp, 2);
  const treeSize = `${files.toLocaleString('en')} files`;
  const folder = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
  const host = await startHostProcess({
    dataDir: join(folder, 'data'),
    environment: { LOG_LEVEL: 'error' },
  });
  const raw = await startWorker<number>(new URL('./raw-server.ts', import.meta.url));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = (route: string, body?: string | NodeJS.ReadableStream) =>
    ask(route, { port: host.port, agent, body });
  const run = async (program: string, args: readonly string[], cwd: string) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] });
    child.stdout.resume();
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${program} ended with ${code}`);
  };
  try {
    const { id } = JSON.parse(await call('POST /v1/sandbox')) as { id: string };
    const sandbox = `/v1/sandbox/${id}`;
    const exec = async (argv: string[]) => {
      const end = await call(`POST ${sandbox}/exec`, JSON.stringify({ argv }));
      if (!end.endsWith('{"exit_code":0}\n\n')) throw new Error(`exec: ${end}`);
    };

    const commands = {
      exec: timed(() => exec(['exit', '0'])),
      'bash -c': timed(() => run('bash', ['-c', 'exit 0'], folder)),
    };
    const P7 = await interleave(commands, pairs, warmUp);

    const size = mebibytes * MIB;
    const rate = (action: () => Promise<unknown>) => async () =>
      mebibytes / ((await timed(action)()) / 1_000);
    const streams = {
      'SSE of exec': rate(() => exec(['head', '-c', String(size), '/dev/zero'])),
      'raw chunked': rate(() => ask(`GET /${size}`, { port: raw.ready, agent })),
    };
    const P7stream = await interleave(streams, rounds, fewWarmUps);

    const file = join(folder, 'upload');
    await writeFile(file, randomBytes(size / 2));
    const uploads = {
      'stream copy': timed(() => pipeline(createReadStream(file), createWriteStream(join(folder, 'copy')))),
      PUT: timed(() => call(`PUT ${sandbox}/file/workspace/upload`, createReadStream(file))),
      'base64 in JSON': timed(async () => {
        const text = JSON.stringify({ body: (await readFile(file)).toString('base64') });
        const { body } = JSON.parse(text) as { body: string };
        await writeFile(join(folder, 'copy'), Buffer.from(body, 'base64'));
      }),
    };
    const P8 = await interleave(uploads, rounds, fewWarmUps);
    await exec(['rm', 'upload']);

    const tree = join(folder, 'tree');
    for (let at = 0; at < 40; at += 1) await mkdir(join(tree, `d${at}`), { recursive: true });
    for (let at = 0; at < files; at += 1) {
      await writeFile(join(tree, `d${at % 40}`, `f${at}`), randomBytes(13_000));
    }
    const archive = join(folder, 'tree.tar');
    await run('tar', ['-cf', archive, '.'], tree);
    const hydrate = () => call(`POST ${sandbox}/hydrate`, createReadStream(archive));
    await hydrate();
    const out = join(folder, 'out');
    await mkdir(out);
    const archives = {
      persist: timed(() => call(`POST ${sandbox}/persist`)),
      'tar -cf -': timed(() => run('tar', ['-cf', '-', '.'], tree)),
      hydrate: timed(hydrate),
      'tar -xf': timed(() => run('tar', ['-xf', archive], out)),
    };
    const P9 = await interleave(archives, rounds, fewWarmUps);

    const half = `${mebibytes / 2} MiB`;
    return [
      compare('P7 exec of a builtin / bash -c', P7, ['exec', 'bash -c'], 'ms', atMost(1.25)),
      compare(
        `P7 ${mebibytes} MiB of stdout as events / raw`,
        P7stream,
        ['SSE of exec', 'raw chunked'],
        'MiB/s',
        atLeast(0.9),
      ),
      compare(`P8 copy of ${half} by a stream / its upload`, P8, ['stream copy', 'PUT'], 'ms', atLeast(0.8)),
      compare(`P8 ${half} as base64 in JSON / its upload`, P8, ['base64 in JSON', 'PUT'], 'ms'),
      compare(`P9 tar -cf of ${treeSize} / persist`, P9, ['tar -cf -', 'persist'], 'ms', atLeast(0.6)),
      compare(`P9 tar -xf of ${treeSize} / hydrate`, P9, ['tar -xf', 'hydrate'], 'ms', atLeast(0.5)),
    ];
  } finally {
    agent.destroy();
    await raw.stop();
    await host.end();
    await rm(folder, { recursive: true, force: true });
  }
}
