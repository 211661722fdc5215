import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { NO_NETWORK } from '#core/network/network-policy.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Page, PageRequest } from '#base/reads.ts';
import type { EndReason, Tombstone } from '#core/previews/preview-records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { QuotaLimits } from '#core/sandboxes/sandbox-capacity.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';

export const ALICE: Owner = { user: 'alice', org: 'acme' };
export const BOB: Owner = { user: 'bob', org: 'acme' };
/** Three sandboxes; the default size counts if none is requested. */
export const THREE: QuotaLimits = {
  quota: { sandboxes: 3 },
  defaultSize: { cpu: 1, memoryMb: 1_024, diskMb: 2_048 },
};
export const NOON = new Date('2026-03-01T12:00:00.000Z');

export const minutes = (count: number): Date => new Date(NOON.getTime() + count * 60_000);
export const hash = (text: string | number): string => String(text).padStart(64, '0');

let named = 0;
/** An unused name: a property runs many times on one database. */
export const fresh = (): string => `fresh-${(named += 1)}-`;

/** A running run of Alice. */
export function aRun(id: string, rest: Partial<RunRecord> = {}): RunRecord {
  return {
    id,
    owner: ALICE,
    title: null,
    sandboxId: 'box',
    autoApproveTools: false,
    status: 'running',
    tokenKid: 'key-1',
    sharing: 'private',
    tokenVersion: 0,
    createdAt: NOON,
    completedAt: null,
    ...rest,
  };
}

/** A sandbox of Alice that is being created. */
export function aSandbox(id: string, rest: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id,
    owner: ALICE,
    image: null,
    place: 'here',
    desired: 'running',
    observed: 'creating',
    createdAt: NOON,
    generation: 1,
    sessionKey: null,
    name: null,
    tags: {},
    resources: {},
    network: NO_NETWORK,
    env: {},
    secrets: NO_SECRETS,
    skills: [],
    lastActiveAt: rest.createdAt ?? NOON,
    stoppedAt: null,
    ttlSeconds: null,
    timeoutAt: null,
    onTimeout: 'stop',
    deleteWithThread: false,
    heartbeatAt: rest.createdAt ?? NOON,
    ...rest,
  };
}

export function tombstone(tokenSha256: string, reason: EndReason, at: Date = NOON): Tombstone {
  return { tokenSha256, runId: 'run_1', reason, at };
}

/** The items of each page of a list, to its end. */
export async function allPages<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  limit: number,
): Promise<T[][]> {
  const pages: T[][] = [];
  let after: string | undefined;
  do {
    const page = await list({ limit, after });
    pages.push([...page.items]);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return pages;
}
