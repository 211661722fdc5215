import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Person } from '#core/callers.ts';
import { PortholeError } from '#core/errors.ts';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { decideApproval, deletePolicy } from '#core/approvals/approval-decisions.ts';
import { endApprovals, type Waiting } from '#core/approvals/wait-for-approval.ts';
import { startAgentPreview, type StartAgentPreviewDeps } from '#core/previews/start-agent-preview.ts';
import { revokePreview } from '#core/previews/live-previews.ts';
import type { PreviewStart } from '#core/previews/start-preview.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { codeOf, HOUR, MINUTE, NOON, previewHarness } from './preview-harness.ts';

const ALICE: Person = { kind: 'person', user: 'alice', org: 'acme', admin: false };
const SECOND = 1_000;

describe('a preview that an agent requests', () => {
  let harness: Awaited<ReturnType<typeof previewHarness>>;
  let stopping: AbortController;
  let deps: StartAgentPreviewDeps;
  let run: RunRecord;
  beforeEach(async () => {
    harness = await previewHarness();
    stopping = new AbortController();
    deps = { ...harness.deps, ids: numberedIds(), stopping: stopping.signal };
    run = await harness.makeRun();
  });
  afterEach(() => harness.records.close());

  const open = (start: Partial<PreviewStart> = {}, waiting: Waiting = {}, on = deps) =>
    startAgentPreview(on, { run, targetPort: 3000, by: 'agent', ...start }, waiting);
  const events = async (of = run) =>
    (await harness.records.timeline.read(of.id, { after: 0, limit: 1000 })).events;
  const types = async (of = run) => (await events(of)).map(({ type }) => type);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  /** The id of the newest request, once there are this many. */
  const asked = async (count = 1, of = run): Promise<string> => {
    for (;;) {
      const questions = (await events(of)).filter(({ type }) => type === 'tool.approval_required');
      if (questions.length >= count) return String(questions.at(-1)?.data['request_id']);
      await turn();
    }
  };
  /** Once this many calls wait and only the clock or a notification can wake them. */
  const waits = async (count = 1) => {
    while (harness.clock.sleepers < count) await turn();
  };
  const decide = (
    requestId: string,
    outcome: 'approved' | 'denied' = 'approved',
    { scope = 'once', reason, of = run }: { scope?: ApprovalScope; reason?: string; of?: RunRecord } = {},
  ) => decideApproval(deps, { run: of, person: ALICE, requestId, outcome, scope, reason });
  const failure = async (failing: Promise<unknown>): Promise<PortholeError> => {
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    if (error instanceof PortholeError) return error;
    throw new Error(`it did not fail as it should: ${String(error)}`);
  };

  test('waits for approval and then opens', async () => {
    let heard: ApprovalRecord | undefined;
    const opening = open({}, { onWaiting: (approval) => (heard = approval) });
    const id = await asked();
    await waits();
    expect(harness.plane.stored.size).toBe(0);
    harness.clock.advance(SECOND);
    const { approval } = await decide(id);
    const { preview } = await opening;
    expect(harness.plane.reaches(preview.token)).toBe(true);
    expect(approval).toMatchObject({ id, status: 'approved', decidedBy: 'alice' });
    expect(heard).toMatchObject({ id, status: 'waiting' });
    const reported = await events();
    expect(reported.map(({ type }) => type)).toEqual([
      'tool.approval_required',
      'tool.approved',
      'preview.opened',
    ]);
    const about = {
      request_id: id,
      display_id: id.slice(-8),
      tool: 'start_preview',
      target_port: 3000,
    };
    expect(reported[0]?.data).toEqual({
      ...about,
      message: 'Open a live preview of port 3000? Anyone with the URL can see the app.',
      expires_at: '2026-03-01T12:05:00.000Z',
    });
    expect(reported[1]?.data).toEqual({ ...about, source: 'person', scope: 'once', decided_by: 'alice' });
  });

  test('opens although its caller leaves, and consumes the approval', async () => {
    const leaving = new AbortController();
    const plane: typeof harness.plane = {
      ...harness.plane,
      serves: (preview, signal) => {
        leaving.abort();
        return signal?.aborted === true ? Promise.reject(new Error('gone')) : harness.plane.serves(preview);
      },
    };
    const opening = open({}, { signal: leaving.signal }, { ...deps, plane });
    const id = await asked();
    await decide(id);
    await opening;
    expect((await harness.records.approvals.get(id))?.takenAt).toEqual(NOON);
  });

  test('keeps its URL if it is stopped while it starts', async () => {
    const plane: typeof harness.plane = {
      ...harness.plane,
      serves: async (preview, signal) => {
        await revokePreview(deps, { run, targetPort: 3000 });
        return harness.plane.serves(preview, signal);
      },
    };
    const opening = failure(open({}, {}, { ...deps, plane }));
    await decide(await asked());
    expect((await opening).code).toBe('preview_conflict');
    expect(harness.plane.stored.size).toBe(0);
  });

  test('returns the reason of a denial, and a retry asks again', async () => {
    const opening = failure(open());
    await decide(await asked(), 'denied', { reason: 'not that port' });
    const error = await opening;
    expect([error.code, error.status, error.retryable]).toEqual(['approval_denied', 403, false]);
    expect(error.message).toContain('not that port');
    const again = open();
    await decide(await asked(2));
    await again;
    expect(await types()).toEqual([
      'tool.approval_required',
      'tool.denied',
      'tool.approval_required',
      'tool.approved',
      'preview.opened',
    ]);
  });

  test('times out after five minutes to the millisecond', async () => {
    const opening = failure(open());
    await asked();
    for (let passed = 0; passed < 5 * MINUTE - 4 * SECOND; passed += 4 * SECOND) {
      await waits();
      harness.clock.advance(4 * SECOND);
    }
    await waits();
    harness.clock.advance(4 * SECOND - 1);
    await waits();
    expect(await types()).toEqual(['tool.approval_required']);
    harness.clock.advance(1);
    const error = await opening;
    expect([error.code, error.status]).toEqual(['approval_timed_out', 403]);
    expect(await types()).toEqual(['tool.approval_required', 'tool.timed_out']);
    expect((await events())[1]?.at).toEqual(new Date(NOON.getTime() + 5 * MINUTE));
    expect(harness.plane.stored.size).toBe(0);
  });

  test('rejects an approval after the timeout', async () => {
    const opening = failure(open());
    const id = await asked();
    await waits();
    harness.clock.advance(5 * MINUTE);
    expect(await codeOf(decide(id))).toBe('approval_decided');
    expect((await opening).code).toBe('approval_timed_out');
  });

  test('accepts one decision, and returns it to later ones', async () => {
    const opening = open();
    const id = await asked();
    await decide(id);
    await opening;
    const error = await failure(decide(id, 'denied'));
    expect([error.code, error.message]).toEqual([
      'approval_decided',
      `Request ${id} was approved by alice at 2026-03-01T12:00:00.000Z, which cannot be changed: the agent must ask again.`,
    ]);
    expect((await types()).filter((type) => type === 'tool.denied')).toEqual([]);
  });

  test('rejects a decision for an unknown request or under another run', async () => {
    const opening = open();
    const id = await asked();
    const other = await harness.makeRun();
    expect(await codeOf(decide('apr_none'))).toBe('approval_not_found');
    expect(await codeOf(decide(id, 'approved', { of: other }))).toBe('approval_not_found');
    await decide(id);
    await opening;
  });

  describe('opens without approval', () => {
    const sources = async () =>
      (await events())
        .filter(({ type }) => type === 'tool.approved')
        .map(({ data }) => [data['source'], data['policy_id']]);

    test('opens if the installation approves everything', async () => {
      await open({}, {}, { ...deps, preview: { ...deps.preview, autoApprove: true } });
      expect(await types()).toEqual(['tool.approved', 'preview.opened']);
      expect(await sources()).toEqual([['installation', undefined]]);
    });

    test('opens if the run approves everything', async () => {
      await open({ run: { ...run, autoApproveTools: true } });
      expect(await sources()).toEqual([['run_option', undefined]]);
    });

    test.each(['run', 'always'] as const)('opens if a policy of scope %s covers it', async (scope) => {
      const opening = open();
      await decide(await asked(), 'approved', { scope });
      await opening;
      await open({ targetPort: 3001 });
      const policy = await harness.records.policies.covering(run.owner, run.id, 'start_preview', {
        target_port: 3000,
      });
      expect(await sources()).toEqual([
        ['person', undefined],
        [`${scope}_policy`, policy?.id],
      ]);
      const other = await harness.makeRun();
      const elsewhere = open({ run: other });
      if (scope === 'run') await decide(await asked(1, other), 'approved', { of: other });
      await elsewhere;
      expect((await types(other)).includes('tool.approval_required')).toBe(scope === 'run');
    });

    test('opens until the policy is deleted by its owner or an admin', async () => {
      const opening = open();
      await decide(await asked(), 'approved', { scope: 'always' });
      await opening;
      const id =
        (await harness.records.policies.covering(run.owner, run.id, 'start_preview', { target_port: 3000 }))
          ?.id ?? '';
      const bob: Person = { ...ALICE, user: 'bob' };
      expect(await codeOf(deletePolicy(deps, bob, id))).toBe('policy_not_found');
      await open({ targetPort: 3001 });
      await deletePolicy(deps, { ...bob, admin: true }, id);
      expect(await codeOf(deletePolicy(deps, ALICE, id))).toBe('policy_not_found');
      const asking = open({ targetPort: 3002 });
      await decide(await asked(2));
      await asking;
    });

    test('opens if a policy covers this port in this run, and for no other port or run', async () => {
      const opening = open();
      await decide(await asked(), 'approved', { scope: 'port' });
      await opening;
      await revokePreview(deps, { run, targetPort: 3000 });
      await open();
      await open({ rotate: true });
      expect((await sources()).map(([source]) => source)).toEqual(['person', 'port_policy', 'port_policy']);
      const elsewhere = [open({ targetPort: 3001 }), open({ run: await harness.makeRun() })];
      elsewhere.push(open({ targetPort: 3001, rotate: true }));
      await waits(3);
      stopping.abort();
      expect(await Promise.all(elsewhere.map((each) => codeOf(each)))).toEqual(
        elsewhere.map(() => 'service_unavailable'),
      );
    });

    test('opens while it is already open', async () => {
      const { preview } = await harness.start(run);
      expect((await open()).preview.uid).toBe(preview.uid);
      expect(await types()).toEqual(['preview.opened', 'preview.kept']);
    });
  });

  describe('after a denial', () => {
    const deny = async (start: Partial<PreviewStart>, count: number, of = run) => {
      const opening = failure(open({ run: of, ...start }));
      await decide(await asked(count, of), 'denied', { of });
      expect((await opening).code).toBe('approval_denied');
    };
    const approve = async (start: Partial<PreviewStart>, count: number, scope: ApprovalScope, of = run) => {
      const opening = open({ run: of, ...start });
      await decide(await asked(count, of), 'approved', { scope, of });
      await opening;
    };

    test.each(['run', 'always'] as const)(
      'asks again even if every other port is approved later: %s',
      async (scope) => {
        const other = await harness.makeRun();
        await deny({ targetPort: 3000 }, 1);
        const of = scope === 'run' ? run : other;
        await approve({ targetPort: 3001 }, scope === 'run' ? 2 : 1, scope, of);
        await open({ targetPort: 3002 });
        const before = (await events()).filter(({ type }) => type === 'tool.approval_required').length;
        for (const [at, rotate] of [false, true].entries())
          await deny({ targetPort: 3000, rotate }, before + at + 1);
      },
    );

    test('stays pending when the ports beside it are approved', async () => {
      await deny({ targetPort: 3000 }, 1);
      const again = failure(open({ targetPort: 3000 }));
      const id = await asked(2);
      const beside = [open({ targetPort: 3001 }), open({ targetPort: 3002 })];
      const { also } = await decide(await asked(4), 'approved', { scope: 'run' });
      await Promise.all(beside);
      expect(also.map(({ args }) => args['target_port'])).toEqual([3001]);
      expect((await harness.records.approvals.get(id))?.status).toBe('waiting');
      await decide(id, 'denied');
      expect((await again).code).toBe('approval_denied');
    });

    test('is covered again once that port is approved', async () => {
      await deny({ targetPort: 3000 }, 1);
      await approve({ targetPort: 3001 }, 2, 'run');
      await approve({ targetPort: 3000 }, 3, 'once');
      await revokePreview(deps, { run, targetPort: 3000 });
      await open({ targetPort: 3000 });
      expect((await events()).filter(({ type }) => type === 'tool.approval_required')).toHaveLength(3);
    });

    test('asks for an additional link even if the port is approved for the run', async () => {
      await deny({ targetPort: 3000, rotate: true }, 1);
      await approve({ targetPort: 3000 }, 2, 'port');
      await revokePreview(deps, { run, targetPort: 3000 });
      await open({ targetPort: 3000 });
      await deny({ targetPort: 3000, rotate: true }, 3);
    });

    test('asks again a day later', async () => {
      await deny({ targetPort: 3000 }, 1);
      harness.clock.advance(25 * HOUR);
      await endApprovals(deps);
      await approve({ targetPort: 3001 }, 2, 'run');
      await deny({ targetPort: 3000 }, 3);
    });
  });

  describe('asks for approval', () => {
    test.each([
      ['idle', 30 * MINUTE],
      ['past its longest life', 8 * HOUR],
    ])('asks again once it is %s, before and after the reaper', async (_name, passed) => {
      await harness.start(run);
      harness.clock.advance(passed);
      const opening = open();
      await decide(await asked());
      await opening;
    });

    test.each(['touch', 'serves'] as const)(
      'asks if it is ended just after it was seen open: %s',
      async (step) => {
        const { preview } = await harness.start(run);
        const end = () => harness.plane.close({ name: preview.name });
        const plane: typeof harness.plane = {
          ...harness.plane,
          touch: async (...args) => {
            if (step === 'touch') await end();
            return harness.plane.touch(...args);
          },
          serves: async (seen, signal) => {
            if (step === 'serves') await end();
            return harness.plane.serves(seen, signal);
          },
        };
        const opening = open({}, {}, { ...deps, plane });
        const id = await asked();
        expect(harness.plane.stored.size).toBe(0);
        await decide(id, 'denied');
        expect((await failure(opening)).code).toBe('approval_denied');
        expect(harness.plane.stored.size).toBe(0);
      },
    );

    test('asks for a rotation of its URL', async () => {
      const { preview } = await harness.start(run);
      const opening = open({ rotate: true });
      await decide(await asked());
      expect((await opening).preview.token).not.toBe(preview.token);
      expect((await events()).find(({ type }) => type === 'tool.approval_required')?.data).toMatchObject({
        target_port: 3000,
        rotate: true,
      });
    });

    test('asks for its owner on the agent path', async () => {
      const opening = open({ by: 'owner' });
      await decide(await asked());
      await opening;
    });
  });

  describe('rejects without asking', () => {
    test.each<[string, Partial<PreviewStart>, () => unknown, string]>([
      ['a port out of range', { targetPort: 2999 }, () => undefined, 'port_out_of_range'],
      ['no port', { targetPort: 0 }, () => undefined, 'invalid_port'],
      ['a sandbox that is gone', {}, () => (harness.seen.state = 'absent'), 'no_bound_sandbox'],
      ['a sandbox that is stopped', {}, () => (harness.seen.state = 'stopped'), 'no_bound_sandbox'],
    ])('checks %s', async (_name, start, prepare, code) => {
      prepare();
      expect(await codeOf(open(start))).toBe(code);
      expect(await types()).toEqual([]);
    });

    test('refuses a run that has ended, if previews end with it', async () => {
      const strict = { ...deps, preview: { ...deps.preview, keepAfterRun: false } };
      const ended: RunRecord = { ...run, status: 'completed', completedAt: NOON };
      expect(await codeOf(open({ run: ended }, {}, strict))).toBe('run_ended');
      expect(await types()).toEqual([]);
    });

    test('refuses a preview over the cap of the run, while the open port still opens', async () => {
      for (const port of [3000, 3001, 3002]) await harness.start(run, port);
      const before = await types();
      expect(await codeOf(open({ targetPort: 3003 }))).toBe('too_many_previews');
      expect(await types()).toEqual(before);
      const rotating = open({ rotate: true });
      await decide(await asked());
      await rotating;
    });

    test('refuses a preview over the global cap', async () => {
      for (let at = 0; at < 20; at += 1) await harness.start(await harness.makeRun());
      const full = { ...deps, preview: { ...deps.preview, maxTotal: 20 } };
      expect(await codeOf(open({}, {}, full))).toBe('too_many_previews');
      expect(await types()).toEqual([]);
    });
  });

  describe('with concurrent callers', () => {
    test('asks once and answers all', async () => {
      const openings = [open(), open({ by: 'owner' }), open()];
      const id = await asked();
      await waits(3);
      await decide(id);
      const uids = (await Promise.all(openings)).map(({ preview }) => preview.uid);
      expect(new Set(uids).size).toBe(1);
      expect((await types()).slice(0, 3)).toEqual([
        'tool.approval_required',
        'tool.approved',
        'preview.opened',
      ]);
    });

    test('denies all at once', async () => {
      const openings = [failure(open()), failure(open())];
      const id = await asked();
      await waits(2);
      await decide(id, 'denied');
      expect((await Promise.all(openings)).map(({ code }) => code)).toEqual([
        'approval_denied',
        'approval_denied',
      ]);
    });

    test('asks once per port; an approval for the run covers all ports', async () => {
      const openings = [3000, 3001, 3002].map((targetPort) => open({ targetPort }));
      await waits(3);
      await decide(await asked(3), 'approved', { scope: 'run' });
      await Promise.all(openings);
      const approved = (await events()).filter(({ type }) => type === 'tool.approved');
      expect(approved.map(({ data }) => data['source'])).toEqual(['person', 'run_policy', 'run_policy']);
    });

    test('is covered in other runs of the owner by scope always', async () => {
      const others = [await harness.makeRun(), await harness.makeRun()];
      const openings = [run, ...others].map((of) => open({ run: of }));
      await waits(3);
      await decide(await asked(), 'approved', { scope: 'always' });
      await Promise.all(openings);
      for (const of of others)
        expect((await events(of))[1]).toMatchObject({
          type: 'tool.approved',
          data: { source: 'always_policy' },
        });
    });

    test('is rejected when a run asks too often', async () => {
      const wide = { ...deps, preview: { ...deps.preview, maxPerRun: 1_000, maxTotal: 1_000 } };
      const leave = new AbortController();
      const openings = Array.from({ length: 256 }, (_, at) =>
        open({ targetPort: 3000 + at }, { signal: leave.signal }, wide).catch((error: unknown) => error),
      );
      await waits(256);
      const error = await failure(open({ targetPort: 4000 }, {}, wide));
      expect([error.code, error.status]).toEqual(['too_many_approvals', 429]);
      leave.abort();
      await Promise.all(openings);
    });
  });

  describe('after its caller leaves', () => {
    test('is withdrawn and can no longer be approved', async () => {
      const leave = new AbortController();
      const opening = open({}, { signal: leave.signal });
      const id = await asked();
      await waits();
      leave.abort();
      await expect(opening).rejects.toMatchObject({ name: 'AbortError' });
      expect(await types()).toEqual(['tool.approval_required', 'tool.withdrawn']);
      expect(await codeOf(decide(id))).toBe('approval_decided');
    });

    test('is withdrawn even before the request was stored', async () => {
      const leave = new AbortController();
      const ids = numberedIds();
      const leaving = {
        ...deps,
        ids: {
          ...ids,
          approval: () => {
            leave.abort();
            return ids.approval();
          },
        },
      };
      await expect(open({}, { signal: leave.signal }, leaving)).rejects.toMatchObject({ name: 'AbortError' });
      expect((await types()).at(-1)).toBe('tool.withdrawn');
    });

    test('waits for the other callers, and is withdrawn with the last', async () => {
      const [one, two] = [new AbortController(), new AbortController()];
      const openings = [open({}, { signal: one.signal }), open({}, { signal: two.signal })].map((opening) =>
        opening.catch((error: unknown) => (error as Error).name),
      );
      await asked();
      await waits(2);
      one.abort();
      await waits(2);
      expect(await types()).toEqual(['tool.approval_required']);
      two.abort();
      await waits(1);
      harness.clock.advance(15 * SECOND);
      expect(await Promise.all(openings)).toEqual(['AbortError', 'AbortError']);
      expect(await types()).toEqual(['tool.approval_required', 'tool.withdrawn']);
    });

    test('keeps the decision for a retry if the caller leaves at the moment of the decision', async () => {
      const leave = new AbortController();
      const opening = open({}, { signal: leave.signal });
      const id = await asked();
      await waits();
      const deciding = decide(id, 'denied');
      leave.abort();
      await deciding;
      await expect(opening).rejects.toMatchObject({ name: 'AbortError' });
      const status = (await types()).at(-1);
      const retried = failure(open());
      if (status === 'tool.withdrawn') await decide(await asked(2), 'denied');
      expect((await retried).code).toBe('approval_denied');
    });
  });

  describe('after its function was killed', () => {
    /**
     * A call of a function that is killed while it waits: it neither leaves nor renews its wait.
     */
    const killed = async (targetPort = 3000): Promise<string> => {
      const dead = {
        ...deps,
        clock: { now: deps.clock.now, until: () => new Promise<void>(() => undefined) },
      };
      void open({ targetPort }, {}, dead);
      return asked();
    };

    test('is joined by an identical retry and asked once', async () => {
      const id = await killed();
      const retry = open();
      await waits();
      harness.clock.advance(SECOND);
      await decide(id);
      await retry;
      expect((await types()).filter((type) => type === 'tool.approval_required')).toHaveLength(1);
    });

    test('opens for a retry once, within five minutes of the approval', async () => {
      const id = await killed();
      await decide(id);
      harness.clock.advance(5 * MINUTE - 1);
      await open();
      expect(await types()).toEqual(['tool.approval_required', 'tool.approved', 'preview.opened']);
      await harness.plane.close({ name: [...harness.plane.stored.keys()][0] ?? '' });
      const next = open();
      await decide(await asked(2));
      await next;
    });

    test('asks again if the approval is older', async () => {
      await decide(await killed());
      harness.clock.advance(5 * MINUTE);
      const next = open();
      await decide(await asked(2));
      await next;
    });

    test('asks again if the port was stopped since the approval', async () => {
      await decide(await killed());
      await revokePreview(deps, { run, targetPort: 3000 });
      const next = open();
      await decide(await asked(2));
      await next;
      expect((await types()).filter((type) => type === 'preview.opened')).toHaveLength(1);
    });

    test('returns the denial to a retry once', async () => {
      await decide(await killed(), 'denied', { reason: 'no' });
      const error = await failure(open());
      expect([error.code, error.message.includes('no')]).toEqual(['approval_denied', true]);
      const next = open();
      await decide(await asked(2));
      await next;
    });

    test('opens for a retry if it was killed between approval and opening', async () => {
      const plane = { ...harness.plane, open: () => Promise.reject(new Error('killed')) };
      const opening = open({}, {}, { ...deps, plane });
      await decide(await asked());
      await expect(opening).rejects.toThrow('killed');
      await open();
      expect(await types()).toEqual(['tool.approval_required', 'tool.approved', 'preview.opened']);
    });

    test('is withdrawn with the retry, once the killed function is known to be gone', async () => {
      await killed();
      harness.clock.advance(SECOND);
      const leave = new AbortController();
      const retry = open({}, { signal: leave.signal }).catch((error: unknown) => (error as Error).name);
      await waits();
      leave.abort();
      await waits();
      expect(await types()).toEqual(['tool.approval_required']);
      harness.clock.advance(15 * SECOND);
      expect(await retry).toBe('AbortError');
      expect(await types()).toEqual(['tool.approval_required', 'tool.withdrawn']);
    });

    test('is timed out by the reaper', async () => {
      await killed();
      harness.clock.advance(5 * MINUTE - 1);
      expect(await endApprovals(deps)).toBe(0);
      harness.clock.advance(1);
      expect(await endApprovals(deps)).toBe(1);
      expect(await types()).toEqual(['tool.approval_required', 'tool.timed_out']);
    });
  });

  test('is deleted a day after it ended, and stays in the timeline', async () => {
    const opening = open();
    const id = await asked();
    await decide(id);
    await opening;
    harness.clock.advance(24 * HOUR);
    await endApprovals(deps);
    expect(await codeOf(decide(id))).toBe('approval_decided');
    harness.clock.advance(1);
    await endApprovals(deps);
    expect(await codeOf(decide(id))).toBe('approval_not_found');
    expect(await types()).toContain('tool.approved');
  });

  test('is unavailable on a host that shuts down, stays pending, and is found on another host', async () => {
    const opening = failure(open());
    const id = await asked();
    await waits();
    stopping.abort();
    const error = await opening;
    expect([error.code, error.retryable]).toEqual(['service_unavailable', true]);
    const retry = open({}, {}, { ...deps, stopping: new AbortController().signal });
    await waits();
    await decide(id);
    await retry;
    expect((await types()).filter((type) => type === 'tool.approval_required')).toHaveLength(1);
  });

  test('waits through a database outage', async () => {
    let isAway = false;
    const approvals: typeof harness.records.approvals = {
      ...harness.records.approvals,
      get: (id) =>
        isAway
          ? Promise.reject(new PortholeError('service_unavailable', 'away'))
          : harness.records.approvals.get(id),
    };
    const opening = open({}, {}, { ...deps, records: { ...harness.records, approvals } });
    const id = await asked();
    await waits();
    isAway = true;
    for (let round = 0; round < 3; round += 1) {
      harness.clock.advance(5 * SECOND);
      await waits();
    }
    await decide(id);
    isAway = false;
    harness.clock.advance(5 * SECOND);
    await opening;
  });

  test('detects the decision without a notification', async () => {
    const timeline = { ...harness.records.timeline, watch: () => () => undefined };
    const opening = open({}, {}, { ...deps, records: { ...harness.records, timeline } });
    const id = await asked();
    await waits();
    await decide(id);
    harness.clock.advance(5 * SECOND);
    await opening;
  });

  test('is no longer asked once its run has completed', async () => {
    const waiting = [failure(open()), failure(open({ by: 'owner' }))];
    const id = await asked();
    await waits(2);
    await harness.records.runs.complete(run.id, harness.clock.now());
    for (const error of await Promise.all(waiting)) {
      expect([error.code, error.message]).toEqual(['run_ended', expect.stringContaining(id.slice(-8))]);
    }
    expect(await types()).toEqual(['tool.approval_required', 'tool.withdrawn']);
    expect(await codeOf(decide(id))).toBe('approval_decided');
  });

  test('is asked for its owner only, if its run has just completed', async () => {
    await harness.records.runs.complete(run.id, harness.clock.now());
    expect((await failure(open())).code).toBe('run_ended');
    expect(await types()).toEqual([]);
    const byOwner = open({ by: 'owner' });
    await decide(await asked());
    await byOwner;
  });

  test('opens for its owner and not for its agent if the run completed after the approval', async () => {
    const byAgent = failure(
      open(
        {},
        {},
        {
          ...deps,
          records: {
            ...harness.records,
            approvals: {
              ...harness.records.approvals,
              get: async (id) => {
                const approval = await harness.records.approvals.get(id);
                if (approval?.status === 'approved')
                  await harness.records.runs.complete(run.id, harness.clock.now());
                return approval;
              },
            },
          },
        },
      ),
    );
    const byOwner = open({ by: 'owner' });
    const id = await asked();
    await waits(2);
    await decide(id);
    expect((await byAgent).code).toBe('run_ended');
    await byOwner;
  });

  test.each<ApprovalScope>(['run', 'always'])(
    'opens by a policy (%s) created between the policy check and the request',
    async (scope) => {
      const other = await harness.makeRun();
      const policies: typeof harness.records.policies = {
        ...harness.records.policies,
        covering: async (...which) => {
          const covering = await harness.records.policies.covering(...which);
          const of = scope === 'run' ? run : other;
          const first = open({ run: of, targetPort: 4000 });
          await decide(await asked(1, of), 'approved', { scope, of });
          await first;
          return covering;
        },
      };
      await open({}, {}, { ...deps, records: { ...harness.records, policies } });
      const { data } = (await events()).findLast(({ type }) => type === 'tool.approved') ?? {};
      expect(data).toMatchObject({ target_port: 3000, source: `${scope}_policy`, decided_by: 'alice' });
    },
  );
});
