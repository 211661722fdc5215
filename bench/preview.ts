import {
  atLeast,
  atMost,
  type BenchResult,
  compare,
  interleave,
  startWorker,
  type Worker,
} from './measure.ts';
import type { LoadTask } from './preview/load.ts';
import { startNginx } from '#test/support/nginx.ts';

/** A host name of the preview zone; arms without routing ignore it. */
const HOST = `bench-bench-bench-${'a'.repeat(26)}-preview.localhost`;

export interface PreviewBenchOptions {
  readonly warmUp?: number;
  /** Rounds per comparison. */
  readonly rounds?: number;
  /** Seconds of small requests per round. */
  readonly seconds?: number;
  /** WebSocket round trips per round. */
  readonly roundTrips?: number;
  /**
   * The process of the preview arm: its argument is the upstream's port, and it sends its own port
   * once it listens. Default: a proxy that dials the upstream on loopback.
   */
  readonly gateway?: URL;
}

/**
 * The local preview against a direct connection, nginx (1 worker), http-proxy 1.18.1 and a raw TCP
 * tunnel in Node: small JSON at 32 connections, a 100 MB body each way, the round trip of a
 * WebSocket message. Every arm is a separate process in front of the same upstream; arms with
 * missing programs are omitted.
 */
export async function benchPreview(options: PreviewBenchOptions = {}): Promise<BenchResult[]> {
  const { warmUp = 1, rounds = 9, seconds = 2, roundTrips = 1_000 } = options;
  const workers: Worker<unknown>[] = [];
  const start = async (file: URL | string, args: string[] = []): Promise<Worker<number>> => {
    const worker = await startWorker<number>(new URL(file, new URL('./preview/', import.meta.url)), args);
    workers.push(worker);
    return worker;
  };
  const upstream = await start('upstream.ts');
  const behind = [String(upstream.ready)];
  const nginx = await startNginx(upstream.ready, { Host: `localhost:${upstream.ready}` });
  try {
    const load = await start('load.ts');
    const ports: Record<string, number> = {
      direct: upstream.ready,
      tunnel: (await start('tunnel.ts', behind)).ready,
      'http-proxy': (await start('http-proxy.ts', behind)).ready,
      'http-proxy, keep-alive': (await start('http-proxy.ts', [...behind, 'keep-alive'])).ready,
      preview: (await start(options.gateway ?? 'porthole.ts', behind)).ready,
    };
    if (nginx !== undefined) ports['nginx'] = nginx.port;
    const measure = async (kind: LoadTask['kind'], amount: number, names: readonly string[]) => {
      const there = names.filter((name) => ports[name] !== undefined);
      const arms = Object.fromEntries(
        there.map((name) => {
          const task: LoadTask = { kind, amount, host: HOST, port: ports[name] as number };
          return [name, async () => (await load.ask(task)) as number];
        }),
      );
      return interleave(arms, rounds, warmUp);
    };

    const json = await measure('json', seconds, Object.keys(ports));
    const few = ['direct', 'tunnel', 'nginx', 'preview'];
    const download = await measure('download', 1, few);
    const upload = await measure('upload', 1, few);
    const echo = await measure('websocket', roundTrips, few);
    const results = [
      compare(
        'preview / http-proxy 1.18.1, small JSON',
        json,
        ['preview', 'http-proxy'],
        'req/s',
        atLeast(2.5),
      ),
      compare(
        'preview / http-proxy 1.18.1 with a keep-alive agent, small JSON',
        json,
        ['preview', 'http-proxy, keep-alive'],
        'req/s',
      ),
      compare('preview / direct, small JSON', json, ['preview', 'direct'], 'req/s'),
      compare('preview / tunnel, small JSON', json, ['preview', 'tunnel'], 'req/s'),
      compare('preview / tunnel, 100 MB down', download, ['preview', 'tunnel'], 'B/s', atLeast(0.9)),
      compare('preview / tunnel, 100 MB up', upload, ['preview', 'tunnel'], 'B/s', atLeast(0.9)),
      compare('preview / tunnel, WebSocket round trip', echo, ['preview', 'tunnel'], 'us', atMost(1.2)),
    ];
    if (nginx !== undefined) {
      results.push(
        compare('preview / nginx, small JSON', json, ['preview', 'nginx'], 'req/s', atLeast(0.6)),
        compare('preview / nginx, 100 MB down', download, ['preview', 'nginx'], 'B/s'),
        compare('preview / nginx, WebSocket round trip', echo, ['preview', 'nginx'], 'us'),
      );
    }
    return results;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await nginx?.stop();
  }
}
