import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchResult, compare, endChild, interleave } from './measure.ts';

/**
 * From the start of the process to the first response, and its private memory then, against an
 * empty Node server.
 */
export async function benchStart({ rounds = 9 }: { readonly rounds?: number } = {}): Promise<BenchResult[]> {
  const memory: Record<string, number[]> = { host: [], 'empty server': [] };
  const arm = (name: string, script: string) => async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
    const began = performance.now();
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...script.split(' ')], {
      cwd: join(import.meta.dirname, '..'),
      env: { PATH: process.env['PATH'] ?? '', PORT: '0', PORTHOLE_DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const port = await new Promise<string>((resolve, reject) => {
        let text = '';
        child.stdout.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          const found = /API\s+http:\/\/[^:]+:(\d+)/.exec(text)?.[1];
          if (found !== undefined) resolve(found);
        });
        child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
      });
      const answer = await fetch(`http://127.0.0.1:${port}/health`);
      await answer.text();
      const took = performance.now() - began;
      memory[name]?.push(await privateMegabytes(child.pid as number));
      return took;
    } finally {
      await endChild(child);
      await rm(dataDir, { recursive: true, force: true });
    }
  };
  const arms = {
    host: arm('host', 'host/main.js'),
    'empty server': arm('empty server', 'bench/empty-server.ts'),
  };
  await interleave(arms, 1);
  memory['host'] = [];
  memory['empty server'] = [];
  const figures = await interleave(arms, rounds);
  return [
    compare('host / empty Node server, start to first answer', figures, ['host', 'empty server'], 'ms'),
    compare('host / empty Node server, private memory', memory, ['host', 'empty server'], 'MB'),
  ];
}

/** Private memory of a process (Linux): what would be free without it. */
async function privateMegabytes(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce(
    (sum, match) => sum + Number(match[1]),
    0,
  );
  return kilobytes / 1_024;
}
