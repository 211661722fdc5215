import { performance } from 'node:perf_hooks';
import type { ClusterAccess } from '#adapters/kubernetes/client/cluster-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesPlane } from '#adapters/kubernetes/previews/kubernetes-preview-plane.ts';
import type { GatewayProbe } from '#adapters/kubernetes/previews/gateway-probe.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { PortholeError } from '#base/errors.ts';
import type { PreviewPlane, PreviewSpec } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/records.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { BOX, dial } from '#test/adapters/kubernetes/plane-fixture.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { collect } from '#test/support/collect.ts';
import { callOf } from './fault-table.ts';
import { type FaultProxy, type ProxiedCall, startFaultProxy } from './fault-proxy.ts';
import { aRun } from '#test/contracts/records/samples.ts';

/** A step of a preview's life: its result, its duration, and the API calls that it made. */
export interface Report {
  readonly step: string;
  readonly came: unknown;
  readonly milliseconds: number;
  readonly calls: readonly ProxiedCall[];
}

/** The timeouts of a function, in milliseconds. */
export interface Timeouts {
  readonly tryTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly startTimeoutMs: number;
}

/** A function that reaches the API server through a separate fault proxy. */
export interface FaultyFunction {
  readonly proxy: FaultProxy;
  readonly client: KubernetesClient;
  readonly plane: PreviewPlane;
  readonly runId: string;
  /** The token of the run's first preview. */
  readonly token: string;
  /** A preview of the run's port. */
  spec(targetPort: number): PreviewSpec;
  /**
   * All steps of a preview's life. Each step is reported, whether it succeeds or not; errors are
   * reported by their code.
   */
  life(): Promise<readonly Report[]>;
  close(): Promise<void>;
}

export interface FaultyFunctionOptions extends Timeouts {
  readonly access: ClusterAccess;
  readonly previewSettings: PreviewOptions;
  readonly records: Records;
  readonly runId: string;
}

/** Serves at once: the probes of a start that waits for a gateway have separate tests. */
const PROMPT: GatewayProbe = {
  proxies: async () => ['proxy'],
  ask: async () => 'app',
  problems: () => [],
  certificateEnds: () => undefined,
};

export async function faultyFunction(options: FaultyFunctionOptions): Promise<FaultyFunction> {
  const { access, previewSettings, records, runId, tryTimeoutMs, callTimeoutMs, startTimeoutMs } = options;
  const proxy = await startFaultProxy(access);
  const client = createKubernetesClient({ access: proxy.access, tryTimeoutMs, callTimeoutMs });
  const tokens = plainTokens();
  const plane = createKubernetesPlane({
    client,
    previewSettings,
    clock: systemClock,
    sandboxes: { dial },
    probe: PROMPT,
    startTimeoutMs,
  });
  const deps = {
    plane,
    records,
    tokens,
    previewSettings,
    quotas: NO_QUOTAS,
    clock: systemClock,
    sandboxes: { inspect: async () => ({ state: 'running', podName: BOX.podName }) as const },
  };
  const run = aRun(runId, { sandboxId: BOX.id, tokenKid: tokens.currentKid(), createdAt: systemClock.now() });
  const target = { run, targetPort: BOX.listens };
  const token = tokens.preview(run.tokenKid, runId, BOX.listens, 0);
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    start: async () => (await startPreview(deps, target)).readiness,
    again: async () => (await startPreview(deps, target)).preview.token === token,
    keepalive: async () => (await keepPreviewAlive(deps, { run, token })).token === token,
    list: async () => (await collect(plane.list({ runId }))).length,
    find: async () => (await plane.find(token))?.token === token,
    stop: async () => (await stopPreview(deps, { run, token })) ?? 'stopped',
  };
  return {
    proxy,
    client,
    plane,
    runId,
    token,
    spec(targetPort) {
      const startedAt = systemClock.now();
      const maxUntil = new Date(startedAt.getTime() + previewSettings.maxLifetimeHours * 3_600_000);
      return {
        token: tokens.preview(run.tokenKid, runId, targetPort, 0),
        runId,
        owner: run.owner.user,
        sandboxId: BOX.id,
        podName: BOX.podName,
        targetPort,
        startedAt,
        expiresAt: new Date(startedAt.getTime() + previewSettings.idleTimeoutMinutes * 60_000),
        maxUntil,
      };
    },
    async life() {
      const reported: Report[] = [];
      for (const [step, does] of Object.entries(steps)) {
        const before = proxy.calls.length;
        const began = performance.now();
        const came = await does().catch(codeOf);
        reported.push({
          step,
          came,
          milliseconds: performance.now() - began,
          calls: proxy.calls.slice(before),
        });
      }
      return reported;
    },
    async close() {
      client.close();
      await proxy.close();
    },
  };
}

/** Errors that callers may receive; any other is a bug, and thrown. */
export function codeOf(error: unknown): string {
  if (error instanceof PortholeError) return error.code;
  throw error;
}

/** The largest number of tries of one failed call in one step of a function. */
export function mostTries(calls: readonly ProxiedCall[]): number {
  const tries = new Map<string, number>();
  for (const call of calls) {
    if (call.fault === undefined) continue;
    const key = `${callOf(call)} ${call.name ?? ''}${call.query}`;
    tries.set(key, (tries.get(key) ?? 0) + 1);
  }
  return Math.max(0, ...tries.values());
}

/** Retries that came earlier than Retry-After allows. */
export function impatient(calls: readonly ProxiedCall[]): readonly string[] {
  return calls.flatMap((call, at) => {
    const { fault } = call;
    if (fault?.kind !== 'status' || fault.retryAfterSeconds === undefined) return [];
    const next = calls.slice(at + 1).find((each) => callOf(each) === callOf(call) && each.name === call.name);
    const waited = next === undefined ? Number.POSITIVE_INFINITY : next.at - call.at;
    // Timers round down by a millisecond.
    return waited < fault.retryAfterSeconds * 1_000 - 2 ? [`${callOf(call)} after ${waited} ms`] : [];
  });
}
