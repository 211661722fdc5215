import { PortholeError } from '#base/errors.ts';
import { APPROVAL_SCOPE_NAMES, breadth, POLICY_SCOPES, type PolicyScope } from './approval-scopes.ts';
import type { PolicyRecord, ToolArguments } from './approval-store.ts';

/**
 * What policies and denials apply to: a port, and whether its link is replaced. The generation does
 * not matter.
 */
export interface Subject {
  /** Null for a tool call without a port. */
  readonly targetPort: number | null;
  readonly rotate: boolean;
}

export function subjectOf(args: ToolArguments): Subject {
  const port = args['target_port'];
  return { targetPort: typeof port === 'number' ? port : null, rotate: args['rotate'] === true };
}

/** The run of the policy that an approval creates; null: every run of the owner. */
export function policyRun(scope: PolicyScope, runId: string): string | null {
  return POLICY_SCOPES[scope].everyRun ? null : runId;
}

/**
 * The port of the policy that an approval creates; null: any port.
 * @throws PortholeError `invalid_request` for a scope of one port if the call names no port
 */
export function policyPort(scope: PolicyScope, args: ToolArguments): number | null {
  if (!POLICY_SCOPES[scope].keepsPort) return null;
  const { targetPort } = subjectOf(args);
  if (targetPort !== null) return targetPort;
  const others = APPROVAL_SCOPE_NAMES.filter((each) => each === 'once' || !POLICY_SCOPES[each].keepsPort);
  const listed = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(others);
  throw new PortholeError(
    'invalid_request',
    `scope: ${scope} is for requests that name a target_port, and this one names none`,
    { remedy: `use ${listed}` },
  );
}

/**
 * Whether approving `approved` cancels the denial of `denied`. Replacing a link includes opening
 * the port.
 */
export function takesBack(approved: Subject, denied: Subject): boolean {
  return approved.targetPort === denied.targetPort && (approved.rotate || !denied.rotate);
}

/**
 * The narrowest policy that approves the call. `denials` are the run's denials that no later
 * approval has cancelled. A policy for any port never overrides the denial of one port. A policy
 * for a port does not override the denial of a new link.
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

const MINUTE = 60_000;

/** How long a request waits for a decision. */
const ANSWER_MS = 5 * MINUTE;
/** How long a decision that its caller did not receive is kept for the caller's retry. */
const KEPT_MS = 5 * MINUTE;
/**
 * Rate limit: a run may begin at most `MAX_REQUESTS` requests in this window, so that a looping
 * agent cannot flood its owner.
 */
const BOUND_MS = 5 * MINUTE;
const MAX_REQUESTS = 256;
/**
 * Lease of a waiter, in milliseconds. A waiter that does not renew it counts as gone, e.g. because
 * its function was killed.
 */
const LEASE_MS = 15_000;
/** Renewal interval, in milliseconds. One late renewal and a slow database do not end the lease. */
const RENEW_MS = 5_000;

export function answerBy(now: Date): Date {
  return later(now, ANSWER_MS);
}

export function leaseUntil(now: Date): Date {
  return later(now, LEASE_MS);
}

/** When a waiter must renew its lease. */
export function renewAt(now: Date): Date {
  return later(now, RENEW_MS);
}

/** The limits of a request that is made at `now`. */
export function requestBounds(now: Date): {
  readonly keptSince: Date;
  readonly since: Date;
  readonly most: number;
} {
  return { keptSince: later(now, -KEPT_MS), since: later(now, -BOUND_MS), most: MAX_REQUESTS };
}

function later(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() + milliseconds);
}
