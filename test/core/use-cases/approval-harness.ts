import { afterEach, beforeEach } from '@jest/globals';
import type { Person } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { decideApproval } from '#core/approvals/approval-decisions.ts';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import type { Waiting } from '#core/approvals/wait-for-approval.ts';
import { startAgentPreview, type StartAgentPreviewDeps } from '#core/previews/start-agent-preview.ts';
import type { PreviewStart } from '#core/previews/start-preview.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { previewHarness } from './preview-harness.ts';

export const ALICE: Person = { kind: 'person', user: 'alice', org: 'acme', admin: false };
export const SECOND = 1_000;

/** What each test starts with. */
export interface Start {
  readonly harness: Awaited<ReturnType<typeof previewHarness>>;
  readonly stopping: AbortController;
  readonly deps: StartAgentPreviewDeps;
  readonly run: RunRecord;
}

/** Gives each test a run with an agent that asks for previews, and a person who decides. */
export function approvalHarness() {
  let now: Start;
  beforeEach(async () => {
    const harness = await previewHarness();
    const stopping = new AbortController();
    const deps = { ...harness.deps, ids: numberedIds(), stopping: stopping.signal };
    now = { harness, stopping, deps, run: await harness.makeRun() };
  });
  afterEach(() => now.harness.records.close());

  const open = (start: Partial<PreviewStart> = {}, waiting: Waiting = {}, on = now.deps) =>
    startAgentPreview(on, { run: now.run, targetPort: 3000, by: 'agent', ...start }, waiting);
  const events = async (of = now.run) =>
    (await now.harness.records.timeline.read(of.id, { after: 0, limit: 1000 })).events;
  const types = async (of = now.run) => (await events(of)).map(({ type }) => type);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** The id of the newest request, once there are this many. */
  const asked = async (count = 1, of = now.run): Promise<string> => {
    for (;;) {
      const questions = (await events(of)).filter(({ type }) => type === 'tool.approval_required');
      if (questions.length >= count) return String(questions.at(-1)?.data['request_id']);
      await turn();
    }
  };
  /** Once this many calls wait and only the clock or a notification can wake them. */
  const waits = async (count = 1) => {
    while (now.harness.clock.sleepers < count) await turn();
  };
  const decide = (
    requestId: string,
    outcome: 'approved' | 'denied' = 'approved',
    { scope = 'once', reason, of = now.run }: { scope?: ApprovalScope; reason?: string; of?: RunRecord } = {},
  ) => decideApproval(now.deps, { run: of, person: ALICE, requestId, outcome, scope, reason });
  const failure = async (failing: Promise<unknown>): Promise<PortholeError> => {
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    if (error instanceof PortholeError) return error;
    throw new Error(`it did not fail as it should: ${String(error)}`);
  };

  return { now: () => now, open, events, types, asked, waits, decide, failure };
}
