import { PortholeError } from '../errors.ts';
import type { ApprovalScope, PolicyRecord, ToolArguments } from './approval-store.ts';

/**
 * What policies and denials are about: a port, and whether its link is replaced. Its generation
 * does not matter.
 */
export interface Subject {
  /** Null for a tool that is called without one. */
  readonly targetPort: number | null;
  readonly rotate: boolean;
}

export function subjectOf(args: ToolArguments): Subject {
  const port = args['target_port'];
  return { targetPort: typeof port === 'number' ? port : null, rotate: args['rotate'] === true };
}

/**
 * The port of the policy that an approval makes; null: any port.
 * @throws PortholeError `invalid_request` for the scope `port` where the call names none
 */
export function policyPort(scope: Exclude<ApprovalScope, 'once'>, args: ToolArguments): number | null {
  if (scope !== 'port') return null;
  const { targetPort } = subjectOf(args);
  if (targetPort !== null) return targetPort;
  throw new PortholeError(
    'invalid_request',
    'scope: port is for requests that name a target_port, and this one names none: use once, run or always',
  );
}

/**
 * Whether an approval of `approved` takes back the denial of `denied`. Replacing a link includes
 * opening the port.
 */
export function takesBack(approved: Subject, denied: Subject): boolean {
  return approved.targetPort === denied.targetPort && (approved.rotate || !denied.rotate);
}

/**
 * The policy that approves the call, the narrowest first. `denials` are those of the run that no
 * approval of the same has taken back: a policy for any port never
 * overturns the denial of one, and a policy for a port does not overturn the denial of a new link.
 */
export function coveringPolicy(
  args: ToolArguments,
  policies: readonly PolicyRecord[],
  denials: readonly Subject[],
): PolicyRecord | undefined {
  const { targetPort, rotate } = subjectOf(args);
  const denied = denials.filter((denial) => denial.targetPort === targetPort);
  return policies
    .filter((policy) =>
      policy.targetPort === null
        ? denied.length === 0
        : policy.targetPort === targetPort && !denied.some((denial) => rotate || !denial.rotate),
    )
    .toSorted((a, b) => breadth(a) - breadth(b))[0];
}

function breadth(policy: PolicyRecord): number {
  return ['port', 'run', 'always'].indexOf(scopeOf(policy));
}

/** How far a policy reaches. */
export function scopeOf({ targetPort, runId }: Pick<PolicyRecord, 'targetPort' | 'runId'>) {
  if (runId === null) return 'always';
  return targetPort === null ? 'run' : 'port';
}

const MINUTE = 60_000;

/** How long somebody is waited for. */
const ANSWER_MS = 5 * MINUTE;
/** How long a decision that its caller did not get is kept for the caller's retry. */
const KEPT_MS = 5 * MINUTE;
/**
 * In which so many requests of a run may begin, and no more: a run that asks and asks must not bury
 * its owner.
 */
const BOUND_MS = 5 * MINUTE;
const MOST = 256;
/**
 * How long a waiter counts without a word of its own: so much later it shows that a function was
 * killed.
 */
const LEASE_MS = 15_000;
/** How often it says so: late by a whole pause and a slow database, it still counts. */
const RENEW_MS = 5_000;

export function answerBy(now: Date): Date {
  return later(now, ANSWER_MS);
}

export function leaseUntil(now: Date): Date {
  return later(now, LEASE_MS);
}

/** When a waiter looks again, at the latest. */
export function renewAt(now: Date): Date {
  return later(now, RENEW_MS);
}

/** What holds for a request that is made at `now`. */
export function requestBounds(now: Date): {
  readonly keptSince: Date;
  readonly since: Date;
  readonly most: number;
} {
  return { keptSince: later(now, -KEPT_MS), since: later(now, -BOUND_MS), most: MOST };
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds);
}
