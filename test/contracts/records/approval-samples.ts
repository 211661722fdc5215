import type { ApprovalRecord, ApprovalRequest, Decision } from '#core/approvals/approval-store.ts';
import type { Records } from '#core/records.ts';
import { minutes } from './samples.ts';

let asked = 0;
let policies = 0;
export const freshId = () => `apr_${String((asked += 1)).padStart(26, '0')}`;
export const freshPolicy = () => `pol_${String((policies += 1)).padStart(26, '0')}`;

/** A request at a minute, which times out after five. */
export function request(at: number, rest: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    id: freshId(),
    runId: 'run_1',
    tool: 'start_preview',
    args: { target_port: 3000 },
    message: 'Open it?',
    requestedAt: minutes(at),
    expiresAt: minutes(at + 5),
    ...rest,
  };
}

export function decision(outcome: Decision['outcome'], rest: Partial<Decision> = {}): Decision {
  return { outcome, scope: 'once', reason: null, by: 'alice', policyId: freshPolicy(), ...rest };
}

/** What tests do with approvals, and read of them. */
export function approvalSteps(instances: () => { readonly records: Records; readonly peer: Records }) {
  let waiters = 0;
  /** Makes a request at minute `at`; the waiter's lease lasts `lease` minutes. */
  const ask = (
    at: number,
    rest: Partial<ApprovalRequest> = {},
    { waiter = `w${(waiters += 1)}`, lease = 1, most = 100, from = instances().records } = {},
  ): Promise<ApprovalRecord> =>
    from.approvals.ask(
      request(at, rest),
      { id: waiter, until: minutes(at + lease) },
      { keptSince: minutes(at - 5), since: minutes(at - 5), most },
    );
  const decide = async (id: string, at: number, what: Decision, from = instances().records) => {
    const result = await from.approvals.decide('run_1', id, what, minutes(at));
    return [result?.decided, result?.approval.status];
  };
  const stand = async (id: string) => (await instances().peer.approvals.get(id))?.status;
  /** `type display_id` of each event, `asked` for those that start a request. */
  const reported = async (runId = 'run_1'): Promise<string[]> => {
    const { events } = await instances().peer.timeline.read(runId, { after: 0, limit: 1000 });
    return events.map(({ type, data }) => `${type} ${String(data['request_id'])}`);
  };
  return { ask, decide, stand, reported };
}
