import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { buildProgram } from '#test/cluster/fixture/build-program.ts';
import { exclusive } from '#test/cluster/fixture/exclusive.ts';
import { buildName, cacheFolder, programsFolder } from '#test/cluster/fixture/program-cache.ts';
import { JAEGER } from '#test/cluster/fixture/programs.ts';
import { freePort } from './free-port.ts';

const ARRIVES_WITHIN_MS = 20_000;
const POLL_MS = 50;

/** A trace as `GET /api/traces/{id}` has it. */
interface JaegerTrace {
  readonly spans: readonly JaegerSpan[];
  readonly processes: Readonly<Record<string, { readonly serviceName: string }>>;
}

export interface JaegerSpan {
  readonly traceID: string;
  readonly spanID: string;
  readonly operationName: string;
  readonly processID: string;
  readonly references: readonly {
    readonly refType: string;
    readonly traceID: string;
    readonly spanID: string;
  }[];
  readonly tags: readonly { readonly key: string; readonly value: unknown }[];
}

export interface Jaeger {
  /** Takes OTLP by HTTP, at `/v1/traces`. */
  readonly collector: string;
  /** The query API and the user interface. */
  readonly url: string;
  /** Sends spans as JSON. */
  send(spans: string): Promise<void>;
  /** Its spans by their path, as `service name › service name`, once all of these are there. */
  spans(traceId: string, paths: readonly string[]): Promise<ReadonlyMap<string, JaegerSpan>>;
  end(): Promise<void>;
}

/**
 * Jaeger, with its store in memory. The first start on a machine builds it.
 * @param ui the built user interface; Go's module has none
 */
export async function startJaeger(ui?: string): Promise<Jaeger> {
  const cache = cacheFolder();
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  // With its own lock: the start of a test cluster does not wait for it.
  await exclusive(join(cache, JAEGER.name), say, () => buildProgram(JAEGER, cache, say));
  const [query, otlp] = [await freePort(), await freePort()];
  const unused = ['admin.http', 'query.grpc-server', 'collector.otlp.grpc', 'collector.grpc-server'];
  const child = spawn(
    join(programsFolder(cache), buildName(JAEGER), JAEGER.name),
    [
      `--query.http-server.host-port=127.0.0.1:${query}`,
      `--collector.otlp.http.host-port=127.0.0.1:${otlp}`,
      ...[...unused, 'collector.http-server'].map((server) => `--${server}.host-port=127.0.0.1:0`),
      '--query.enable-tracing=false',
      ...(ui === undefined ? [] : [`--query.static-files=${ui}`]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  await ready(child);
  const collector = `http://127.0.0.1:${otlp}`;
  const url = `http://127.0.0.1:${query}`;
  return {
    collector,
    url,
    async send(spans) {
      const headers = { 'content-type': 'application/json' };
      const sent = await fetch(`${collector}/v1/traces`, { method: 'POST', headers, body: spans });
      if (!sent.ok) throw new Error(`Jaeger answers ${sent.status}: ${await sent.text()}`);
    },
    async spans(traceId, paths) {
      const until = Date.now() + ARRIVES_WITHIN_MS;
      for (;;) {
        const answer = await fetch(`${url}/api/traces/${traceId}`);
        // Until its first span has arrived, the trace is not found.
        const { data } = (await answer.json()) as { readonly data: readonly JaegerTrace[] | null };
        const found = byPath(data?.[0]);
        const missing = paths.filter((path) => !found.has(path));
        if (missing.length === 0) return found;
        if (Date.now() > until) {
          const has = [...found.keys()].join('\n');
          throw new Error(`the trace lacks\n${missing.join('\n')}\nIt has\n${has}`);
        }
        await delay(POLL_MS);
      }
    },
    async end() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

/** @throws Error if it ends instead, with its output */
async function ready(child: ChildProcess): Promise<void> {
  const lines: string[] = [];
  const output = createInterface({ input: child.stderr ?? process.stdin });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`Jaeger has ended:\n${lines.join('\n')}`)));
    output.on('line', (line) => {
      lines.push(line);
      if (line.includes('"status":"ready"')) resolve();
    });
  });
}

function byPath(trace?: JaegerTrace): Map<string, JaegerSpan> {
  const byId = new Map(trace?.spans.map((span) => [span.spanID, span]));
  const pathOf = (span: JaegerSpan): string => {
    const parent = span.references.find(({ refType }) => refType === 'CHILD_OF')?.spanID;
    const above = parent === undefined ? undefined : byId.get(parent);
    const name = `${trace?.processes[span.processID]?.serviceName} ${span.operationName}`;
    // A parent that has not arrived is no root.
    return parent === undefined ? name : `${above === undefined ? '?' : pathOf(above)} › ${name}`;
  };
  return new Map(trace?.spans.map((span) => [pathOf(span), span]));
}
