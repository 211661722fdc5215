import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Person } from '#core/callers.ts';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { deletePolicy } from '#core/approvals/approval-decisions.ts';
import { endApprovals } from '#core/approvals/wait-for-approval.ts';
import { revokePreview } from '#core/previews/live-previews.ts';
import type { PreviewStart } from '#core/previews/start-preview.ts';
import { ALICE, approvalHarness, SECOND, type Start } from './approval-harness.ts';
import { codeOf, HOUR, MINUTE, NOON } from './preview-harness.ts';

describe('a preview that an agent requests', () => {
  const { now, open, events, types, asked, waits, decide, failure } = approvalHarness();
  let harness: Start['harness'];
  let stopping: Start['stopping'];
  let deps: Start['deps'];
  let run: Start['run'];
  beforeEach(() => {
    ({ harness, stopping, deps, run } = now());
  });

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
      level: 'link',
    };
    expect(reported[0]?.data).toEqual({
      ...about,
      message: 'Open a live preview of port 3000? Anyone with the link can see the app.',
      expires_at: '2026-03-01T12:05:00.000Z',
    });
    expect(reported[1]?.data).toEqual({ ...about, source: 'person', scope: 'once', decided_by: 'alice' });
  });

  test('opens although its caller leaves, and consumes the approval', async () => {
    const leaving = new AbortController();
    const plane: typeof harness.plane = {
      ...harness.plane,
      awaitReady: (preview, signal) => {
        leaving.abort();
        return signal?.aborted === true
          ? Promise.reject(new Error('gone'))
          : harness.plane.awaitReady(preview);
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
      awaitReady: async (preview, signal) => {
        await revokePreview(deps, { run, targetPort: 3000 });
        return harness.plane.awaitReady(preview, signal);
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
    expect(error.message).toContain('): “not that port”. Change the request');
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
      await open({}, {}, { ...deps, previewSettings: { ...deps.previewSettings, autoApprove: true } });
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

    test.each(['touch', 'awaitReady'] as const)(
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
          awaitReady: async (seen, signal) => {
            if (step === 'awaitReady') await end();
            return harness.plane.awaitReady(seen, signal);
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
      const strict = { ...deps, previewSettings: { ...deps.previewSettings, keepAfterRun: false } };
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
      const full = { ...deps, previewSettings: { ...deps.previewSettings, maxTotal: 20 } };
      expect(await codeOf(open({}, {}, full))).toBe('too_many_previews');
      expect(await types()).toEqual([]);
    });
  });
});
