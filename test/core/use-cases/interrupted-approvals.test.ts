import { beforeEach, describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import type { ApprovalScope } from '#core/approvals/approval-scopes.ts';
import { endApprovals } from '#core/approvals/wait-for-approval.ts';
import { revokePreview } from '#core/previews/live-previews.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { approvalHarness, SECOND, type Start } from './approval-harness.ts';
import { codeOf, HOUR, MINUTE } from './preview-harness.ts';

describe('a preview that an agent requests, when it is interrupted,', () => {
  const { now, open, events, types, asked, waits, decide, failure } = approvalHarness();
  let harness: Start['harness'];
  let stopping: Start['stopping'];
  let deps: Start['deps'];
  let run: Start['run'];
  beforeEach(() => {
    ({ harness, stopping, deps, run } = now());
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
      const wide = {
        ...deps,
        previewSettings: { ...deps.previewSettings, maxPerRun: 1_000, maxTotal: 1_000 },
      };
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
