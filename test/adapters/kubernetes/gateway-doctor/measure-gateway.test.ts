import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Feature, Finding } from '#adapters/kubernetes/gateway-doctor/finding.ts';
import { measureGateway } from '#adapters/kubernetes/gateway-doctor/measure-gateway.ts';
import {
  authorityFiles,
  issueCertificate,
  makeAuthority,
} from '#test/cluster/fixture/certificate-authority.ts';
import { type Faults, startGateway, startProbe } from './faulty-gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-doctor-'));
const ZONE = 'preview.test';
const HOLD_MS = 4_000;
const SUPPORTED = ['HTTPRouteRequestTimeout'];

let ca: string;
let tls: { key: string; cert: string };
let probe: Awaited<ReturnType<typeof startProbe>>;

beforeAll(async () => {
  await makeAuthority(folder);
  ca = await readFile(authorityFiles(folder).certificate, 'utf8');
  tls = await certificate('zone', `*.${ZONE}`);
  probe = await startProbe('doctor');
}, 30_000);
afterAll(() => {
  probe.close();
  rmSync(folder, { recursive: true });
});

async function certificate(name: string, dnsName: string): Promise<{ key: string; cert: string }> {
  const issued = await issueCertificate(folder, name, {
    commonName: name,
    use: 'server',
    dnsNames: [dnsName],
  });
  return { key: issued.key, cert: issued.certificate };
}

async function measured(
  faults: Faults,
  { supported = SUPPORTED, own = tls, isTrusted = true } = {},
): Promise<Readonly<Record<string, Finding>>> {
  const gateway = await startGateway(probe.port, own, faults);
  try {
    const target = {
      host: '127.0.0.1',
      port: gateway.port,
      hostname: `doctor.${ZONE}`,
      ca: isTrusted ? ca : undefined,
    };
    const facts = { isStored: true, supported, controller: {}, holdMs: HOLD_MS };
    const findings = await measureGateway(target, facts, AbortSignal.timeout(60_000));
    return Object.fromEntries(findings.map((each) => [each.feature, each]));
  } finally {
    gateway.close();
  }
}

const missingOf = (findings: Readonly<Record<string, Finding>>) =>
  Object.values(findings).flatMap(({ feature, ok }) => (ok ? [] : [feature]));

test('finds everything in a gateway that has it', async () => {
  const findings = await measured({});
  expect(Object.values(findings).filter(({ ok }) => !ok)).toEqual([]);
  expect(findings['body']?.detail).toBe('1 GiB is announced and accepted, 8 MiB passed at once');
  expect(findings['certificate']?.detail).toMatch(/^valid for \*\.preview\.test until /);
}, 60_000);

test('names what a gateway lacks, and what to change', async () => {
  const other = await certificate('host', `other.${ZONE}`);
  const cases: readonly [Feature, RegExp, ReturnType<typeof measured>][] = [
    ['headers', /^the Host is not rewritten .*Clear-Site-Data/, measured({ keepsHeaders: true })],
    ['websocket', /^no WebSocket \(Unexpected server response: 400\)$/, measured({ refusesUpgrades: true })],
    ['body', /^1 GiB is refused with 413 after \d+ MiB$/, measured({ maxBodyBytes: 2 ** 20 })],
    ['timeouts', /does not report HTTPRouteRequestTimeout$/, measured({}, { supported: [] })],
    ['certificate', /^not valid for \*\.preview\.test$/, measured({}, { own: other })],
    ['certificate', /^not of a trusted authority \([A-Z_]+\)$/, measured({}, { isTrusted: false })],
  ];
  for (const [feature, detail, measuring] of cases) {
    const findings = await measuring;
    expect(missingOf(findings)).toEqual([feature]);
    expect(findings[feature]?.detail).toMatch(detail);
    expect(findings[feature]?.change).toBeTruthy();
  }
}, 60_000);

test('names a gateway that buffers event streams, and one that ends answers early', async () => {
  const [buffering, cutting] = await Promise.all([
    measured({ buffersAnswers: true }),
    measured({ cutsAnswers: true }),
  ]);
  expect(buffering['timeouts']?.change).toBe('see sse');
  expect(cutting['sse']?.ok).toBe(true);
  expect(cutting['timeouts']?.detail).toMatch(/^a silent answer ended after [0-3] s$/);
}, 60_000);
