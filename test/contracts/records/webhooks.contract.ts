import { beforeEach, describe, expect, test } from '@jest/globals';
import { later, type Owner } from '#base/clock-and-ids.ts';
import type { NewAuditEvent } from '#core/audit/audit-event.ts';
import type { Records } from '#core/records.ts';
import { decideAttempt, GIVE_UP_AFTER_MS } from '#core/webhooks/attempt-decision.ts';
import { newSigningKey } from '#core/webhooks/sign-webhook.ts';
import type { Attempt, Webhook } from '#core/webhooks/webhook-store.ts';
import { ALICE, BOB, minutes, NOON } from './samples.ts';

const CAROL: Owner = { user: 'carol', org: 'other' };

function aWebhook(id: string, rest: Partial<Webhook> = {}): Webhook {
  return {
    id,
    owner: ALICE,
    scope: 'own',
    events: ['*'],
    signature: 'hmac',
    url: 'https://hooks.test/secret-path',
    keys: [newSigningKey('hmac')],
    createdAt: NOON,
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    failingAt: null,
    deliveredAt: null,
    ...rest,
  };
}

const changed = (
  subject: string,
  owner: Owner | null = ALICE,
  type: NewAuditEvent['type'] = 'sandbox.stopped',
): NewAuditEvent => ({ type, subject, owner, data: { why: 'idle' } });

const seconds = (count: number): Date => new Date(NOON.getTime() + count * 1_000);
const LEASE = 30;

/** The contract of webhooks, `peer` being a second instance on the same database. */
export function webhooksContract(
  instances: () => { readonly records: Records; readonly peer: Records },
): void {
  describe('webhooks', () => {
    let records: Records;
    let peer: Records;
    beforeEach(() => {
      ({ records, peer } = instances());
    });
    const settle = async (now = NOON) => {
      while ((await records.audit.chain(100)) > 0);
      while (await records.webhooks.fanOut(now));
    };
    const add = async (...events: readonly NewAuditEvent[]) => {
      await records.audit.add(events);
      await settle();
    };
    const claim = (id: string, now = NOON, most = 8, by = records) =>
      by.webhooks.claim(id, { most, now, leaseUntil: later({ now: () => now }, LEASE * 1_000) });
    const end = async (attempt: Attempt | undefined, outcome: number, now = NOON) => {
      if (attempt === undefined) throw new Error('nothing was due');
      const decision = decideAttempt({ status: outcome }, attempt.hook, attempt.delivery, now, 0.5);
      await peer.webhooks.complete(attempt, decision, now);
    };
    /** Delivers all that is due; returns the subjects in their order. */
    const deliverAll = async (id: string, now = NOON): Promise<string[]> => {
      const subjects: string[] = [];
      for (let due = await claim(id, now); due.length > 0; due = await claim(id, now)) {
        for (const attempt of due) {
          subjects.push(attempt.delivery.subject);
          await end(attempt, 200, now);
        }
      }
      return subjects;
    };
    const states = async (id: string) =>
      (await peer.webhooks.deliveries(id, { limit: 100 })).items
        .map(({ subject, state, attempts }) => [subject, state, attempts])
        .toReversed();

    test('come back as they were created, for their owner, with no secret in the audit', async () => {
      const given = aWebhook('whk_1', { events: ['run.created', 'preview.*'] });
      expect(await records.webhooks.create(given, 2)).toBe(true);
      expect(await records.webhooks.create(aWebhook('whk_2', { createdAt: minutes(1) }), 2)).toBe(true);
      expect(await records.webhooks.create(aWebhook('whk_3'), 2)).toBe(false);
      expect(await records.webhooks.create(aWebhook('whk_4', { owner: BOB }), 2)).toBe(true);
      expect(await peer.webhooks.get('whk_1')).toEqual(given);
      expect((await peer.webhooks.list(ALICE)).map(({ id }) => id)).toEqual(['whk_2', 'whk_1']);
      expect(await peer.webhooks.list(undefined)).toHaveLength(3);
      expect(await peer.webhooks.remove('whk_1')).toBe(true);
      expect(await peer.webhooks.remove('whk_1')).toBe(false);
      while ((await records.audit.chain(100)) > 0);
      const { rows } = await records.audit.read({}, { after: 0, limit: 100 });
      expect(rows.map(({ type }) => type)).toEqual([
        ...Array.from({ length: 3 }, () => 'webhook.created'),
        'webhook.deleted',
      ]);
      expect(rows[0]?.details?.data).toMatchObject({ origin: 'https://hooks.test', scope: 'own' });
      expect(JSON.stringify(rows)).not.toContain('secret-path');
    });

    test.each([
      ['two hours', 120],
      ['a year', 365 * 24 * 60],
    ])('are due at once where the clock was set back by %s', async (_title, ahead) => {
      await records.webhooks.create(aWebhook('hook'), 5);
      const [before, wrong] = [NOON, minutes(ahead)];
      await records.audit.add([changed('sandbox/a'), changed('sandbox/b')]);
      await settle(wrong);
      const [attempt] = await claim('hook', wrong, 1);
      await end(attempt, 500, wrong);
      expect(await claim('hook', before)).toEqual([]);
      await records.webhooks.hasten(before);
      expect((await records.webhooks.due())[0]?.dueAt).toEqual(before);
      expect((await deliverAll('hook', before)).toSorted()).toEqual([
        'sandbox/a',
        'sandbox/b',
        'webhook/hook',
      ]);
    });

    test('keep the pauses after a failure', async () => {
      await records.webhooks.create(aWebhook('hook'), 5);
      await deliverAll('hook');
      await add(changed('sandbox/a'));
      await end((await claim('hook'))[0], 500);
      const due = await records.webhooks.due();
      await records.webhooks.hasten(NOON);
      expect(await records.webhooks.due()).toEqual(due);
    });

    test('get the events after their creation that they ask for and may see', async () => {
      await add(changed('sandbox/before'));
      for (const [id, rest] of [
        ['own', {}],
        ['org', { scope: 'org', owner: BOB }],
        ['all', { scope: 'installation', owner: BOB }],
        ['some', { events: ['preview.*', 'run.created'], scope: 'installation', owner: CAROL }],
      ] as const) {
        await records.webhooks.create(aWebhook(id, rest), 5);
      }
      while ((await records.audit.chain(100)) > 0);
      await settle();
      for (const id of ['own', 'org', 'all', 'some']) await deliverAll(id);
      await add(
        changed('sandbox/a'),
        changed('sandbox/b', BOB),
        changed('sandbox/c', CAROL),
        changed('operation/x', null, 'request.denied'),
        changed('run/1', ALICE, 'run.created'),
        changed('run/2/port/80', CAROL, 'preview.opened'),
        changed('webhook/own', ALICE, 'webhook.test'),
      );
      expect(await deliverAll('own')).toEqual(['sandbox/a', 'run/1', 'webhook/own']);
      expect(await deliverAll('org')).toEqual(['sandbox/a', 'sandbox/b', 'run/1']);
      expect(await deliverAll('all')).toEqual([
        'sandbox/a',
        'sandbox/b',
        'sandbox/c',
        'operation/x',
        'run/1',
        'run/2/port/80',
      ]);
      expect(await deliverAll('some')).toEqual(['run/1', 'run/2/port/80']);
    });

    /** One that has succeeded, so that several of its attempts may run at once. */
    const proven = async (id: string, rest: Partial<Webhook> = {}) => {
      await records.webhooks.create(aWebhook(id, { events: ['sandbox.*'], ...rest }), 5);
      await add(changed('sandbox/first'));
      expect(await deliverAll(id)).toEqual(['sandbox/first']);
    };

    test('keep the order of each subject, and deliver subjects beside each other', async () => {
      await proven('hook');
      await add(changed('sandbox/a'), changed('sandbox/b'), changed('sandbox/a'));
      const [a, b, ...none] = await claim('hook');
      expect([a?.delivery.subject, b?.delivery.subject, none]).toEqual(['sandbox/a', 'sandbox/b', []]);
      expect(a?.event?.details?.data).toEqual({ why: 'idle' });
      await add(changed('sandbox/a'));
      await end(b, 200);
      expect(await claim('hook')).toEqual([]);
      await end(a, 200);
      expect(await deliverAll('hook')).toEqual(['sandbox/a', 'sandbox/a']);
      expect(await states('hook')).toEqual(
        ['sandbox/first', 'sandbox/a', 'sandbox/b', 'sandbox/a', 'sandbox/a'].map((subject) => [
          subject,
          'delivered',
          1,
        ]),
      );
    });

    test('are claimed by one instance, and again once its lease ends', async () => {
      await proven('hook');
      await add(...Array.from({ length: 6 }, (_, n) => changed(`sandbox/${n}`)));
      const [ours, theirs] = await Promise.all([claim('hook'), claim('hook', NOON, 8, peer)]);
      expect(ours.length + theirs.length).toBe(6);
      expect(await claim('hook', seconds(LEASE - 1))).toEqual([]);
      const again = await claim('hook', seconds(LEASE));
      expect(again.map(({ delivery }) => delivery.attempts)).toEqual(Array.from({ length: 6 }, () => 2));
      const [first] = [...ours, ...theirs];
      await end(first, 200);
      expect((await states('hook')).filter(([, state]) => state === 'delivered')).toHaveLength(1);
    });

    test('fail with longer pauses, one attempt at a time, and begin anew with a success', async () => {
      await proven('hook');
      await add(changed('sandbox/a'), changed('sandbox/b'));
      const [a, b] = await claim('hook');
      await end(a, 500);
      await end(b, 503);
      expect(await claim('hook', NOON)).toEqual([]);
      expect(await peer.webhooks.get('hook')).toMatchObject({ failures: 1, failingAt: NOON });
      const [due] = await records.webhooks.due();
      expect(due).toEqual({ id: 'hook', owner: ALICE, dueAt: seconds(5) });
      const probe = await claim('hook', seconds(5));
      expect(probe.map(({ delivery }) => [delivery.subject, delivery.attempts])).toEqual([['sandbox/a', 2]]);
      expect(await claim('hook', seconds(5), 8, peer)).toEqual([]);
      await end(probe[0], 204, seconds(6));
      expect(await peer.webhooks.get('hook')).toMatchObject({ failures: 0, failingAt: null });
      expect(await deliverAll('hook', seconds(6))).toEqual(['sandbox/b']);
    });

    test.each([
      ['gone', NOON, 410],
      ['failing', new Date(NOON.getTime() + GIVE_UP_AFTER_MS), 500],
    ] as const)(
      'are disabled as %s, say so in the audit, and start anew when enabled',
      async (reason, at, status) => {
        await proven('hook', { events: ['sandbox.*', 'webhook.enabled'] });
        await add(changed('sandbox/a'), changed('sandbox/b'), changed('sandbox/a'));
        const [a, b] = await claim('hook');
        await end(a, 500);
        await end(b, 500);
        const [last] = await claim('hook', at.getTime() === NOON.getTime() ? seconds(9) : at);
        await end(last, status, at);
        expect(await peer.webhooks.get('hook')).toMatchObject({ disabledAt: at, disabledReason: reason });
        expect((await states('hook')).slice(-3).map(([, state]) => state)).toEqual([
          'failed',
          'cancelled',
          'cancelled',
        ]);
        await add(changed('sandbox/c'));
        expect(await records.webhooks.due()).toEqual([]);
        expect(await records.webhooks.hasActive()).toBe(false);
        const { rows } = await records.audit.read({ types: ['webhook.disabled'] }, { after: 0, limit: 9 });
        expect(rows.map(({ details }) => details?.data['why'])).toEqual([reason]);
        await records.webhooks.enable('hook');
        await records.webhooks.enable('hook');
        await add(changed('sandbox/d'));
        expect(await deliverAll('hook', at)).toEqual(['webhook/hook', 'sandbox/d']);
      },
    );

    test('deliver an event again with its id, and at once', async () => {
      await proven('hook');
      const [first] = (await records.webhooks.deliveries('hook', { limit: 1 })).items;
      const id = first?.id ?? '';
      expect(await records.webhooks.redeliver('hook', 'whd_other', NOON)).toBeUndefined();
      expect(await records.webhooks.redeliver('other', id, NOON)).toBeUndefined();
      expect(await records.webhooks.redeliver('hook', id, NOON)).toMatchObject({ state: 'waiting' });
      const [again] = await claim('hook');
      expect([again?.delivery.id, again?.event?.id]).toEqual([id, first?.eventId]);
      await end(again, 500);
      expect(await claim('hook', seconds(1))).toEqual([]);
      expect(await records.webhooks.redeliver('hook', id, seconds(1))).toMatchObject({ nextAt: seconds(1) });
      expect(await deliverAll('hook', seconds(1))).toEqual(['sandbox/first']);
    });

    test('read no further with 1,000 waiting deliveries, and lose none', async () => {
      await records.webhooks.create(aWebhook('dead'), 5);
      const total = 1_200;
      for (let n = 0; n < total; n += 100) {
        await add(...Array.from({ length: 100 }, (_, i) => changed(`sandbox/${(n + i) % 50}`)));
      }
      const page = await records.webhooks.deliveries('dead', { limit: 1_000 });
      const rest = await records.webhooks.deliveries('dead', { limit: 1_000, after: page.next ?? '' });
      expect([page.items.length, rest.items.length]).toEqual([1_000, 1]);
      const delivered: string[] = [];
      for (let before = -1; before < delivered.length; ) {
        before = delivered.length;
        delivered.push(...(await deliverAll('dead')));
        await settle();
      }
      // And its creation.
      expect(delivered).toHaveLength(total + 1);
    }, 180_000);

    test('forget deliveries some time after their end', async () => {
      await proven('hook');
      await add(changed('sandbox/a'));
      expect(await records.webhooks.forget(NOON)).toBe(0);
      expect(await records.webhooks.forget(seconds(1))).toBe(1);
      expect(await states('hook')).toEqual([['sandbox/a', 'waiting', 0]]);
    });

    test('give up an event that was redacted, without a failure', async () => {
      await proven('hook');
      await add(changed('sandbox/a'));
      await records.audit.redact(ALICE.user);
      const [attempt] = await claim('hook');
      expect(attempt?.event?.details).toBeNull();
      if (attempt !== undefined) {
        const decision = decideAttempt('removed', attempt.hook, attempt.delivery, NOON, 0);
        await records.webhooks.complete(attempt, decision, NOON);
      }
      expect((await states('hook')).at(-1)).toEqual(['sandbox/a', 'failed', 1]);
      expect(await records.webhooks.get('hook')).toMatchObject({ failures: 0, failingAt: null });
    });
  });
}
