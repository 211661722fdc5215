import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { call } from '#test/support/in-process-host.ts';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { repetitions, suite } from '#test/support/suite.ts';

const VERSION = '4.32.5';
const CACHE =
  process.env['PORTHOLE_CACHE_DIR'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'porthole');
const FOLDER = join(CACHE, `schemathesis-${VERSION}`);
const missing = existsSync(join(FOLDER, 'schemathesis'))
  ? undefined
  : `no schemathesis: python3 -m pip install --target ${FOLDER} schemathesis==${VERSION}`;

const KEY = 'the-key-that-schemathesis-has';
/** Streams that end only with their client. */
const ENDLESS = [
  'followTimeline',
  'followActivity',
  'followSandbox',
  'followApprovals',
  'followServer',
  'watchFiles',
  'ptyTerminal',
];

suite('the OpenAPI document, tried by schemathesis', missing, () => {
  let host: HostProcess;
  let folder = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-schemathesis-'));
    host = await startHostProcess({
      dataDir: folder,
      environment: { SANDBOX_API_KEY: KEY, LOG_LEVEL: 'error', SANDBOX_PREVIEW_AUTO_APPROVE: 'true' },
    });
  }, 60_000);
  afterAll(async () => {
    await host?.end();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  test('answers 5,000 requests without a failure of ours, and without a status that it does not name', async () => {
    const made = await call(host.port, 'POST', '/api/runs', { token: KEY, body: {} });
    const run = made.json<{ run_id: string; sandbox_id: string }>();
    const args = [
      'run',
      `http://127.0.0.1:${host.port}/v1/openapi.json`,
      `--header=Authorization: Bearer ${KEY}`,
      '--checks=not_our_failure,status_code_conformance',
      ...ENDLESS.map((id) => `--exclude-operation-id=${id}`),
      '--phases=examples,coverage,fuzzing',
      `--max-examples=${repetitions(150, 4, 40)}`,
      '--continue-on-failure',
      '--workers=1',
      '--request-timeout=30',
      '--seed=1',
      '--generation-deterministic',
      '--suppress-health-check=all',
      '--warnings=off',
      '--no-color',
    ];
    // Hypothesis parses modules elsewhere, of schemathesis too, and draws the constants in them.
    const packages = join(folder, 'site-packages');
    symlinkSync(FOLDER, packages);
    const child = spawn('python3', ['-m', 'schemathesis.cli', ...args], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: folder,
        PYTHONPATH: `${packages}:${join(import.meta.dirname, 'support/schemathesis')}`,
        SCHEMATHESIS_HOOKS: 'porthole_hooks',
        PORTHOLE_TEST_RUN: run.run_id,
        PORTHOLE_TEST_SANDBOX: run.sandbox_id,
      },
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    const failures = said.slice(said.indexOf('= FAILURES ='), said.indexOf('= SUMMARY ='));
    expect([code, code === 0 ? '' : failures || said]).toEqual([0, '']);
    expect(Number(/(\d+) generated/.exec(said)?.[1])).toBeGreaterThanOrEqual(5_000);
  }, 900_000);
});
