import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Records } from '#core/records.ts';
import { type Missing, suite } from '#test/support/suite.ts';
import { apiKeysContract } from './records/api-keys.contract.ts';
import { auditContract } from './records/audit.contract.ts';
import { approvalsContract } from './records/approvals.contract.ts';
import { waitingApprovalsContract } from './records/waiting-approvals.contract.ts';
import { policiesContract } from './records/policies.contract.ts';
import { endedSessionsContract } from './records/ended-sessions.contract.ts';
import { editorContract } from './records/editor.contract.ts';
import { allPages, BOB, hash, minutes, NOON, aRun, aSandbox, tombstone } from './records/samples.ts';
import { runsContract } from './records/runs.contract.ts';
import { previewsContract } from './records/previews.contract.ts';
import { archivesContract } from './records/archives.contract.ts';
import { checkpointRecordsContract } from './records/checkpoints.contract.ts';
import { viewersContract } from './records/viewers.contract.ts';
import { inboxContract } from './records/inbox.contract.ts';
import { accessContract } from './records/access.contract.ts';
import { previewNamesContract } from './records/preview-names.contract.ts';
import { looksContract } from './records/looks.contract.ts';
import { imagesContract } from './records/images.contract.ts';
import { listsContract } from './records/lists.contract.ts';
import { delegationsContract } from './records/delegations.contract.ts';
import { sandboxEventsContract } from './records/sandbox-events.contract.ts';
import { skillsContract } from './records/skills.contract.ts';
import { timelineContract } from './records/timeline.contract.ts';
import { quotasContract } from './records/quotas.contract.ts';
import { sandboxLifeContract } from './records/sandbox-life.contract.ts';
import { usageContract } from './records/usage.contract.ts';
import { webhooksContract } from './records/webhooks.contract.ts';
import { warmSandboxesContract } from './records/warm-sandboxes.contract.ts';

/** One empty database, and instances on it. */
export interface RecordsFixture {
  /** An independent instance, like that of another server. The fixture closes it. */
  open(): Records;
  dispose(): Promise<void>;
}

export interface RecordsContractOptions {
  /** How often each property is tried. */
  readonly runs: number;
  /** Whether several instances share the database. */
  readonly peers: boolean;
  /** Whether an append on one of them notifies the watchers of another. */
  readonly wakesPeers: boolean;
}

/**
 * The contract of a Records adapter, `peer` being a second instance on the same database. A
 * database that is not asked to be new may have been migrated, but has no rows.
 */
export function recordsContract(
  name: string,
  missing: Missing,
  fixture: (isNew?: boolean) => Promise<RecordsFixture>,
  { runs: propertyRuns, peers, wakesPeers }: RecordsContractOptions,
): void {
  suite(name, missing, () => {
    let database: RecordsFixture;
    let records: Records;
    let peer: Records;

    beforeEach(async () => {
      database = await fixture();
      records = database.open();
      peer = peers ? database.open() : records;
      await records.migrate();
    });
    afterEach(() => database.dispose());

    describe('sandboxes', () => {
      test('come back as they were created', async () => {
        const given = aSandbox('box', { image: 'node:24', createdAt: minutes(1), owner: BOB });
        expect(await records.sandboxes.create(given)).toEqual(given);
        expect(await peer.sandboxes.get('box')).toEqual(given);
        expect(await peer.sandboxes.get('other')).toBeUndefined();
      });

      test.each(['creating', 'running', 'stopped'] as const)(
        'keep an id that is taken by a %s one',
        async (observed) => {
          const first = aSandbox('box', { observed, desired: 'destroyed' });
          await records.sandboxes.create(first);
          expect(await peer.sandboxes.create(aSandbox('box', { owner: BOB }))).toBeUndefined();
          expect(await peer.sandboxes.get('box')).toEqual(first);
        },
      );

      test('take over the id of a destroyed one, with nothing left of it', async () => {
        await records.sandboxes.create(
          aSandbox('box', { desired: 'destroyed', observed: 'destroyed', image: 'old' }),
        );
        const second = aSandbox('box', { owner: BOB, createdAt: minutes(5) });
        expect(await peer.sandboxes.create(second)).toEqual({ ...second, generation: 2 });
        expect(await records.sandboxes.get('box')).toEqual({ ...second, generation: 2 });
        expect(await records.sandboxes.destroyedAmong(['box'])).toEqual(new Set());
      });

      test.each(['a fresh', 'a destroyed'])('give %s id to one of many who create at once', async (which) => {
        if (which === 'a destroyed') {
          await records.sandboxes.create(aSandbox('box', { observed: 'destroyed' }));
        }
        const given = Array.from({ length: 40 }, (_, at) => aSandbox('box', { image: `image-${at}` }));
        const results = await Promise.all(
          given.map((each, at) => (at % 2 ? peer : records).sandboxes.create(each)),
        );
        const generation = which === 'a destroyed' ? 2 : 1;
        const [made, ...others] = results.filter((each) => each !== undefined);
        expect(others).toEqual([]);
        expect(made).toEqual({ ...given[results.indexOf(made)], generation });
        expect(await records.sandboxes.get('box')).toEqual(made);
      });

      test('are not touched by what was meant for the one before them', async () => {
        await records.sandboxes.create(aSandbox('box', { observed: 'destroyed' }));
        const second = await peer.sandboxes.create(aSandbox('box'));
        await records.sandboxes.setDesired('box', 'destroyed', 1);
        await records.sandboxes.setObserved('box', 'destroyed', 1);
        expect(await peer.sandboxes.get('box')).toMatchObject({ desired: 'running', observed: 'creating' });
        await records.sandboxes.setObserved('box', 'running', second?.generation);
        expect(await peer.sandboxes.get('box')).toMatchObject({ observed: 'running' });
      });

      test('keep what is wanted apart from what was seen', async () => {
        await records.sandboxes.create(aSandbox('box'));
        await records.sandboxes.setDesired('box', 'stopped');
        await peer.sandboxes.setObserved('box', 'running');
        expect(await peer.sandboxes.get('box')).toEqual(
          aSandbox('box', { desired: 'stopped', observed: 'running' }),
        );
      });

      test('stay unknown when the state of an unknown id is set', async () => {
        await records.sandboxes.setDesired('none', 'running');
        await records.sandboxes.setObserved('none', 'running');
        expect(await records.sandboxes.get('none')).toBeUndefined();
      });

      test('are listed for one installation only when that is requested', async () => {
        await records.sandboxes.create(aSandbox('ours'));
        await records.sandboxes.create(aSandbox('theirs', { place: 'there' }));
        const { items } = await records.sandboxes.live({ limit: 10 }, 'there');
        expect(items).toEqual([aSandbox('theirs', { place: 'there' })]);
      });

      test('live until they are both wanted and seen destroyed', async () => {
        const states = [
          ['running', 'creating'],
          ['running', 'running'],
          ['stopped', 'stopped'],
          ['destroyed', 'running'],
          ['running', 'destroyed'],
          ['destroyed', 'destroyed'],
        ] as const;
        for (const [at, [desired, observed]] of states.entries()) {
          await records.sandboxes.create(
            aSandbox(`box-${at}`, { desired, observed, createdAt: minutes(at) }),
          );
        }
        const pages = await allPages((page) => records.sandboxes.live(page), 2);
        expect(pages.map((items) => items.map(({ id }) => id))).toEqual([
          ['box-4', 'box-3'],
          ['box-2', 'box-1'],
          ['box-0'],
        ]);
      });

      test('are known to be destroyed only once that was seen', async () => {
        await records.sandboxes.create(aSandbox('gone', { desired: 'destroyed', observed: 'destroyed' }));
        await records.sandboxes.create(aSandbox('lost', { observed: 'destroyed' }));
        await records.sandboxes.create(aSandbox('going', { desired: 'destroyed', observed: 'running' }));
        await records.sandboxes.create(aSandbox('stopped', { desired: 'stopped', observed: 'stopped' }));
        expect(await peer.sandboxes.destroyedAmong(['gone', 'lost', 'going', 'stopped', 'unknown'])).toEqual(
          new Set(['gone', 'lost']),
        );
      });
    });

    runsContract(() => ({ records, peer }), { runs: propertyRuns });
    previewsContract(() => ({ records, peer }), { runs: propertyRuns });
    timelineContract(() => ({ records, peer }), { runs: propertyRuns, wakesPeers });
    sandboxEventsContract(() => ({ records, peer }), { wakesPeers });
    delegationsContract(() => ({ records, peer }), { wakesPeers });
    apiKeysContract(() => ({ records, peer }), { wakesPeers });
    webhooksContract(() => ({ records, peer }));
    auditContract(() => ({ records, peer }));
    usageContract(() => ({ records, peer }));
    warmSandboxesContract(() => ({ records, peer }));
    sandboxLifeContract(() => ({ records, peer }));
    editorContract(() => ({ records, peer }));
    imagesContract(() => ({ records, peer }));
    listsContract(() => ({ records, peer }));
    skillsContract(() => ({ records, peer }));
    archivesContract(() => ({ records, peer }));
    checkpointRecordsContract(() => ({ records, peer }));
    looksContract(() => ({ records, peer }));
    accessContract(() => ({ records, peer }));
    previewNamesContract(() => ({ records, peer }));
    inboxContract(() => ({ records, peer }));
    viewersContract(() => ({ records, peer }));
    endedSessionsContract(() => ({ records, peer }));
    quotasContract(() => ({ records, peer }));
    approvalsContract(() => ({ records, peer }), { runs: propertyRuns });
    waitingApprovalsContract(() => ({ records, peer }), { wakesPeers });
    policiesContract(() => ({ records, peer }));

    describe('lists of ids', () => {
      test('may be empty', async () => {
        expect(await records.runs.completedAmong([])).toEqual(new Set());
        expect(await records.sandboxes.destroyedAmong([])).toEqual(new Set());
        expect(await records.previews.stoppedAmong([])).toEqual(new Set());
        await records.previews.bury([]);
        expect(await records.previews.forget(minutes(1000))).toBe(0);
      });

      test('may be of 10,000', async () => {
        const tokens = Array.from({ length: 10_000 }, (_, at) => hash(at));
        await records.previews.bury(
          tokens.map((token, at) => tombstone(token, at % 2 ? 'stopped' : 'expired')),
        );
        await records.runs.create(aRun(tokens[9_999] as string));
        await records.runs.complete(tokens[9_999] as string, NOON);
        await records.sandboxes.create(aSandbox(tokens[5_000] as string, { observed: 'destroyed' }));
        expect(await peer.previews.stoppedAmong(tokens)).toEqual(new Set(tokens.filter((_, at) => at % 2)));
        expect(await peer.runs.completedAmong(tokens)).toEqual(new Set([tokens[9_999]]));
        expect(await peer.sandboxes.destroyedAmong(tokens)).toEqual(new Set([tokens[5_000]]));
        expect(await peer.previews.forget(minutes(1))).toBe(10_000);
      });

      test('may hold quotes, braces, commas and backslashes', async () => {
        const ids = ['"', "'", '{a,b}', '\\', 'null', '', '[1]', '🛳️'];
        for (const id of ids) await records.runs.create(aRun(id));
        for (const id of ids) await records.runs.complete(id, NOON);
        expect(await records.runs.completedAmong(ids)).toEqual(new Set(ids));
      });
    });

    describe('the database', () => {
      test('refuses a NUL character in any text, by name', async () => {
        const refusal = {
          code: 'invalid_request',
          message: 'a text holds a NUL character (U+0000), which cannot be stored: remove it',
        };
        await expect(records.runs.get('a\0b')).rejects.toMatchObject(refusal);
        await expect(records.runs.create(aRun('run_1', { title: 'a\0' }))).rejects.toMatchObject(refusal);
        await expect(records.runs.completedAmong(['a', '\0'])).rejects.toMatchObject(refusal);
        await expect(
          records.previews.bury([tombstone(hash('a'), 'expired'), tombstone('\0', 'expired')]),
        ).rejects.toMatchObject(refusal);
        expect(await records.runs.get('run_1')).toBeUndefined();
        expect(await records.previews.tombstone(hash('a'))).toBeUndefined();
      });

      test('migrates again without a change', async () => {
        await records.runs.create(aRun('run_1'));
        await peer.migrate();
        await records.migrate();
        expect(await peer.runs.get('run_1')).toEqual(aRun('run_1'));
      });

      test('finishes what it has begun before it closes, and then takes nothing more', async () => {
        const ends = Promise.all([
          records.previews.end('run_1', 1, 0, tombstone(hash('a'), 'stopped')),
          records.previews.end('run_1', 2, 0, tombstone(hash('b'), 'stopped')),
        ]);
        const [results] = await Promise.all([ends, records.close(), records.close()]);
        expect(results).toEqual([1, 1]);
        await expect(records.runs.get('run_1')).rejects.toMatchObject({
          code: 'service_unavailable',
          message: 'the records are closed: the server is stopping',
        });
      });

      test('closes without ever having been used', async () => {
        await database.open().close();
      });
    });

    if (!peers) return;

    describe('several instances', () => {
      test('remember everything after all of them were closed', async () => {
        await records.runs.create(aRun('run_1'));
        await records.sandboxes.create(aSandbox('box'));
        await records.previews.end('run_1', 3000, 0, tombstone(hash('a'), 'stopped'));
        await records.close();
        await peer.close();
        const next = database.open();
        await next.migrate();
        expect(await next.runs.get('run_1')).toEqual(aRun('run_1'));
        expect(await next.sandboxes.get('box')).toEqual(aSandbox('box'));
        expect(await next.previews.generation('run_1', 3000)).toBe(1);
        expect(await next.previews.stoppedAmong([hash('a')])).toEqual(new Set([hash('a')]));
      });

      test('migrate an empty database at once', async () => {
        const empty = await fixture(true);
        try {
          const instances = Array.from({ length: 6 }, () => empty.open());
          await Promise.all(instances.map((instance) => instance.migrate()));
          await Promise.all(instances.map((instance, at) => instance.runs.create(aRun(`run_${at}`))));
          expect((await empty.open().runs.list(undefined, { limit: 10 })).items).toHaveLength(6);
        } finally {
          await empty.dispose();
        }
      });
    });
  });
}
