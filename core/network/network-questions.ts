import type { ApprovalRequest } from '../approvals/approval-store.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { WakingClock } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { createWakeSignal } from '#base/wake-signal.ts';
import { isNetworkTool } from './ask-owner.ts';

interface Deps {
  readonly records: Pick<Records, 'approvals' | 'timeline'>;
  readonly clock: WakingClock;
}

/** A host that the owner of a run is asked about. */
export interface NetworkRequest {
  readonly requestId: string;
  readonly host: string;
  readonly port: number;
  /** When it is refused without an answer. */
  readonly expiresAt: Date;
  readonly requestedAt: Date;
}

/** Pending approvals of an owner that are looked through. */
const MAX_PENDING = 200;

/**
 * How long, in milliseconds, a request that is older than a command may wait before it counts as
 * the command's: equal requests are one.
 */
const JOINED_AFTER_MS = 5_000;

/** The hosts that the owner of a run is asked about now, oldest first. */
export async function networkRequests({ records, clock }: Deps, run: RunRecord): Promise<NetworkRequest[]> {
  const pending = await records.approvals.waiting(run.owner, clock.now(), MAX_PENDING);
  return pending.filter(({ runId, tool }) => runId === run.id && isNetworkTool(tool)).map(toNetworkRequest);
}

/** The hosts, once the owner is asked about one for a command that begins now. Empty: aborted. */
export async function awaitNetworkRequests(
  deps: Deps,
  run: RunRecord,
  signal: AbortSignal,
): Promise<readonly NetworkRequest[]> {
  const { records, clock } = deps;
  const began = clock.now();
  const joined = new Date(began.getTime() + JOINED_AFTER_MS);
  const wakeSignal = createWakeSignal(clock, [signal]);
  const unwatch = records.timeline.watch(run.id, wakeSignal.notify);
  try {
    for (let isJoined = false; ; ) {
      // First: no request can be the command's yet, and most commands end before any.
      await wakeSignal.until(isJoined ? NEVER : joined);
      if (signal.aborted) return [];
      isJoined = clock.now() >= joined;
      const pending = await networkRequests(deps, run);
      if (pending.some(({ requestedAt }) => isJoined || requestedAt >= began)) return pending;
    }
  } finally {
    unwatch();
    wakeSignal.close();
  }
}

/** Until the timeline changes. */
const NEVER = new Date(8.64e15);

function toNetworkRequest({ id, args, expiresAt, requestedAt }: ApprovalRequest): NetworkRequest {
  return {
    requestId: id,
    host: String(args['host']),
    port: Number(args['port']),
    expiresAt,
    requestedAt,
  };
}
