import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { postgresMissing, startPostgres } from '#test/support/postgres.ts';
import { bundleFunctions } from '../build/bundle-functions.ts';
import { type Arm, type BenchResult, compare, interleave, single } from './measure.ts';

const run = promisify(execFile);
const KEY = 'service-key-of-the-bench';
/** Goal for the size of what is loaded, in kB. */
const MAX_BUNDLE_KB = 850;
const REQUESTS = { 'GET /health': '/health', 'GET /api/runs': '/api/runs' } as const;

/** The CPU time and the loaded files, as a process of the functions prints them. */
interface Start {
  readonly status: number;
  readonly ms: number;
  readonly files: readonly string[];
}

/**
 * The first request of a new process: CPU time with everything that it loads, against an empty
 * Node, and the size of the loaded files. Connects to a real PostgreSQL.
 */
export async function benchFunctions({
  rounds = 9,
}: {
  readonly rounds?: number;
} = {}): Promise<BenchResult[]> {
  if (postgresMissing !== undefined) {
    process.stdout.write(`  This bench is left out: ${postgresMissing}\n`);
    return [];
  }
  const folder = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
  const postgres = await startPostgres();
  try {
    await bundleFunctions(join(folder, 'functions'));
    const kubeconfig = join(folder, 'kubeconfig.json');
    await writeFile(kubeconfig, JSON.stringify(KUBECONFIG));
    const env = environment(postgres.url, kubeconfig);
    const module = pathToFileURL(join(folder, 'functions/router.mjs')).href;
    const sizes = new Map<string, number>();
    const measured = Object.entries(REQUESTS).map(([name, path]): [string, Arm] => [
      name,
      async () => {
        const { status, ms, files } = await firstRequest(module, path, env);
        if (status !== 200) throw new Error(`${name} answered ${status}`);
        const bytes = await Promise.all(files.map(async (file) => (await stat(new URL(file))).size));
        sizes.set(name, bytes.reduce((sum, each) => sum + each, 0) / 1_000);
        return ms;
      },
    ]);
    const arms: Record<string, Arm> = { ...Object.fromEntries(measured), [EMPTY]: () => emptyNode(env) };
    // The first round creates the tables.
    const figures = await interleave(arms, rounds, 1);
    return Object.keys(REQUESTS).flatMap((name) => [
      compare(`${name}: first request / ${EMPTY}`, figures, [name, EMPTY], 'ms'),
      single(`${name}: size of the loaded files`, sizes.get(name) ?? 0, 'kB', MAX_BUNDLE_KB),
    ]);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true });
  }
}

const EMPTY = 'empty Node';
const CPU = 'const { user, system } = process.cpuUsage(); const ms = (user + system) / 1e3;';

async function emptyNode(env: NodeJS.ProcessEnv): Promise<number> {
  const { stdout } = await run(
    process.execPath,
    ['--input-type=module', '--eval', `${CPU} console.log(ms); process.exit(0);`],
    { env },
  );
  return Number(stdout);
}

async function firstRequest(module: string, path: string, env: NodeJS.ProcessEnv): Promise<Start> {
  const event = {
    rawPath: path,
    headers: { host: 'porthole.example.com', authorization: `Bearer ${KEY}` },
    requestContext: { requestId: 'r', http: { method: 'GET', sourceIp: '203.0.113.7' } },
  };
  const script = `import { registerHooks } from 'node:module';
    const files = [];
    registerHooks({ load: (url, context, next) => (url.startsWith('file:') && files.push(url), next(url, context)) });
    const { handler } = await import(${JSON.stringify(module)});
    const { statusCode: status } = await handler(${JSON.stringify(event)});
    ${CPU}
    console.log(JSON.stringify({ status, ms, files }));
    process.exit(0);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { env });
  return JSON.parse(stdout) as Start;
}

/** Never called: the requests need no cluster. */
const KUBECONFIG = {
  'current-context': 'bench',
  clusters: [{ name: 'bench', cluster: { server: 'http://127.0.0.1:9' } }],
  users: [{ name: 'bench', user: { token: 'none' } }],
  contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
};

function environment(databaseUrl: string, kubeconfig: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    DATABASE_URL: databaseUrl,
    KUBECONFIG: kubeconfig,
    PORTHOLE_PROVIDER: 'kubernetes',
    PORTHOLE_SANDBOX_IMAGE: 'porthole/sandbox',
    PORTHOLE_SIGNING_KEYS: JSON.stringify({ keys: [{ kty: 'oct', kid: 'bench', k: 'A'.repeat(43) }] }),
    SANDBOX_API_KEY: KEY,
    LOG_LEVEL: 'error',
    Sandbox__Preview__ZoneSuffix: 'preview.example.com',
    Sandbox__Preview__GatewayName: 'porthole',
    Sandbox__Preview__GatewayNamespace: 'porthole',
  };
}
