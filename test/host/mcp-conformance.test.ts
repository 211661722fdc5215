import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';

const PROGRAM = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);

/**
 * The scenarios of the protocol's own conformance suite that need no server of diagnostic tools,
 * and the checks in them that do: these cannot pass. All others must.
 */
const SCENARIOS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  '2025-11-25': {
    'server-initialize': [],
    'server-session-lifecycle': [],
    ping: [],
    'tools-list': [],
    'resources-list': [],
    'server-sse-multiple-streams': [],
    'dns-rebinding-protection': [],
  },
  '2026-07-28': {
    'server-stateless': [
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-missing-capability-http-400',
      'sep-2575-server-no-log-without-loglevel',
      'sep-2575-server-rejects-undeclared-capability',
    ],
    'tools-list': [],
    'resources-list': [],
    'server-sse-multiple-streams': [],
    'dns-rebinding-protection': [],
    'http-header-validation': [],
    'sep-2164-resource-not-found': [],
    'input-required-result-unsupported-methods': [],
    // Porthole has no prompts.
    caching: ['sep-2549-prompts-list-caching-hints'],
  },
};

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

describe.each(Object.keys(SCENARIOS))('the MCP conformance suite, at %s', (version) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-conformance-'));
  let porthole: TestHost;

  beforeAll(async () => {
    porthole = await startTestHost();
    const url = new URL('/mcp', porthole.host.url).href;
    const given = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '-o', folder];
    // It exits with 1: the scenarios of diagnostic tools fail.
    await promisify(execFile)(process.execPath, [PROGRAM, ...given], { cwd: folder }).catch(
      (error: { code?: unknown }) => expect(error.code).toBe(1),
    );
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await porthole?.end();
  });

  test.each(Object.entries(SCENARIOS[version] ?? {}))('passes %s', (scenario, diagnostic) => {
    const found = readdirSync(folder).filter(
      (name) => name.replace(/-\d{4}-\d\d-\d\dT.*$/, '') === `server-${scenario}`,
    );
    expect(found).toHaveLength(1);
    const checks = JSON.parse(readFileSync(join(folder, found[0] ?? '', 'checks.json'), 'utf8')) as Check[];
    const failed = checks.filter(({ status }) => status === 'FAILURE');
    expect(failed.filter(({ id }) => !diagnostic.includes(id))).toEqual([]);
    expect(failed.map(({ id }) => id).sort()).toEqual(diagnostic);
    expect(checks.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThan(0);
  });
});
