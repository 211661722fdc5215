import { expect } from '@jest/globals';
import * as fc from 'fast-check';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import type { Person } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { Records } from '#core/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { RunEvent } from '#core/runs/timeline.ts';
import { decideApproval } from '#core/approvals/approval-decisions.ts';
import { endApprovals } from '#core/approvals/wait-for-approval.ts';
import { startAgentPreview, type StartAgentPreviewDeps } from '#core/previews/start-agent-preview.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { previewOptions } from '#test/support/preview-options.ts';
import { aRun } from '#test/contracts/records/samples.ts';

/** The scenario of one request: its callers, its decisions, and the events in between. */
export interface Fate {
  /**
   * Identical calls, on one instance or the other; `leaves`: the caller disconnects during the
   * decisions.
   */
  readonly calls: readonly { readonly onPeer: boolean; readonly leaves: boolean }[];
  /** `late`: at the exact moment of the timeout. */
  readonly decisions: readonly {
    readonly onPeer: boolean;
    readonly approves: boolean;
    readonly late: boolean;
  }[];
}

/**
 * This many scenarios, drawn from a seed: a failure then names a number instead of two hundred
 * scenarios.
 */
export function drawFates(seed: number, count: number): readonly Fate[] {
  const one = fc.record({
    calls: fc.array(
      fc.record({
        onPeer: fc.boolean(),
        leaves: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    decisions: fc.array(fc.record({ onPeer: fc.boolean(), approves: fc.boolean(), late: fc.boolean() }), {
      maxLength: 3,
    }),
  });
  return fc.sample(one, { seed, numRuns: count });
}

const NOON = new Date('2026-03-01T12:00:00.000Z');
const RUNS = 8;
const ALICE: Person = { kind: 'person', user: 'alice', org: 'acme', admin: false };

let races = 0;

/** One request with everything that was observed of it. */
interface Request {
  readonly run: RunRecord;
  readonly port: number;
  readonly fate: Fate;
  readonly outcomes: Promise<string>[];
  readonly decided: Promise<string>[];
  id: string;
}

/**
 * Runs all scenarios concurrently, on two instances of records. Each request must end exactly once,
 * its timeline must show how, and all participants must get the same result.
 */
export async function raceApprovals(
  instances: { readonly records: Records; readonly peer: Records },
  fates: readonly Fate[],
): Promise<void> {
  const { records } = instances;
  const clock = pinnedClock(NOON);
  const plane = memoryPreviewPlane({ clock });
  const ids = numberedIds();
  const prefix = `race_${(races += 1)}_`;
  const own = {
    ...ids,
    approval: () => `${prefix}${ids.approval()}`,
    policy: () => `${prefix}${ids.policy()}`,
  };
  const depsOn = (on: Records): StartAgentPreviewDeps => ({
    records: on,
    plane,
    clock,
    ids: own,
    tokens: plainTokens(),
    sandboxes: { inspect: async (id) => ({ state: 'running', podName: id }) },
    previewSettings: previewOptions({ maxPerRun: 1_000, maxTotal: 10_000 }),
    quotas: NO_QUOTAS,
    stopping: new AbortController().signal,
  });
  const [here, there] = [depsOn(records), depsOn(instances.peer)];
  const runs = await Promise.all(Array.from({ length: RUNS }, (_, at) => makeRun(records, `${prefix}${at}`)));

  const leaving = new AbortController();
  const requests = fates.map((each, at): Request => {
    const run = runs[at % RUNS] as RunRecord;
    const port = 3000 + Math.floor(at / RUNS);
    const outcomes = each.calls.map(({ onPeer, leaves }) =>
      outcomeOf(
        startAgentPreview(
          onPeer ? there : here,
          { run, targetPort: port, by: 'agent' },
          leaves ? { signal: leaving.signal } : {},
        ),
      ),
    );
    return { run, port, fate: each, outcomes, decided: [], id: '' };
  });
  const calls = fates.reduce((sum, each) => sum + each.calls.length, 0);
  while (clock.sleepers < calls) await new Promise((resolve) => setTimeout(resolve, 5));

  const asked = new Map<string, string>();
  for (const run of runs) {
    const reported = await timeline(records, run.id);
    expect(reported.every(({ type }) => type === 'tool.approval_required')).toBe(true);
    for (const { data } of reported)
      asked.set(`${run.id} ${String(data['target_port'])}`, String(data['request_id']));
  }
  // Each was requested once, for any number of callers.
  expect(asked.size).toBe(fates.length);

  const decide = (request: Request, late: boolean) => {
    for (const { onPeer, approves, late: isLate } of request.fate.decisions) {
      if (late !== isLate) continue;
      const outcome = approves ? 'approved' : 'denied';
      const decision = {
        run: request.run,
        person: ALICE,
        requestId: request.id,
        outcome,
        scope: 'once',
      } as const;
      request.decided.push(outcomeOf(decideApproval(onPeer ? there : here, decision), outcome));
    }
  };
  for (const request of requests) {
    request.id = asked.get(`${request.run.id} ${request.port}`) ?? '';
    decide(request, false);
  }
  leaving.abort();
  await Promise.all(requests.flatMap(({ decided }) => decided));
  // The late ones read the clock before it advances, and reach the database after.
  for (const request of requests) decide(request, true);
  clock.advance(5 * 60_000);
  await Promise.all([endApprovals(here), endApprovals(there)]);

  for (const request of requests) await decideRequest(records, request);
  expect(clock.sleepers).toBe(0);
}

/** Checks that all observations are consistent. */
async function decideRequest(
  records: Records,
  { run, port, fate: { calls }, outcomes, decided, id }: Request,
): Promise<void> {
  const reported = (await timeline(records, run.id)).filter(({ data }) => data['request_id'] === id);
  const ends = reported.map(({ type }) => type).filter((type) => type !== 'tool.approval_required');
  expect([id, reported.length, ends.length]).toEqual([id, 2, 1]);
  const how = String(ends[0]).replace('tool.', '');
  expect((await records.approvals.get(id))?.status).toBe(how);

  const heard = await Promise.all(outcomes);
  const stayed = heard.filter((_, at) => calls[at]?.leaves === false);
  const EXPECTED: Readonly<Record<string, string>> = {
    approved: 'done',
    denied: 'approval_denied',
    timed_out: 'approval_timed_out',
  };
  // Only a request without waiting callers is withdrawn.
  expect(stayed).toEqual(stayed.map(() => EXPECTED[how] ?? 'none may stay'));
  for (const [at, each] of heard.entries()) {
    if (calls[at]?.leaves === true) expect(['AbortError', EXPECTED[how]]).toContain(each);
  }
  const results = await Promise.all(decided);
  const taken = results.filter((each) => each !== 'approval_decided');
  expect(taken).toEqual(how === 'approved' || how === 'denied' ? [how] : []);
  const opened = (await timeline(records, run.id)).filter(
    ({ type, data }) => type === 'preview.opened' && data['target_port'] === port,
  );
  expect(opened.length).toBeLessThanOrEqual(how === 'approved' ? 1 : 0);
  if (stayed.length > 0 && how === 'approved') expect(opened).toHaveLength(1);
}

async function timeline(records: Records, runId: string): Promise<readonly RunEvent[]> {
  return (await records.timeline.read(runId, { after: 0, limit: 1000 })).events;
}

async function outcomeOf(doing: Promise<unknown>, well = 'done'): Promise<string> {
  try {
    await doing;
    return well;
  } catch (error) {
    if (error instanceof PortholeError) return error.code;
    return (error as Error).name;
  }
}

async function makeRun(records: Records, id: string): Promise<RunRecord> {
  const run = aRun(id);
  await records.runs.create(run);
  return run;
}
