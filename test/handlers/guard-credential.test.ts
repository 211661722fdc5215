import { describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { Caller } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import { guardCredential, type GuardCredentialDeps } from '#handlers/http/guard-credential.ts';

const ALICE: Caller = {
  kind: 'person',
  user: 'alice',
  org: 'acme',
  admin: false,
  session: { id: 'ses_1', expiresAt: new Date(Date.now() + 60_000) },
};

const gone = new PortholeError('service_unavailable', 'the records are closed: the server is stopping');

const depsWith = (lasts: () => Promise<boolean>): GuardCredentialDeps => ({
  authenticator: { sessions: { lasts } },
  clock: systemClock,
  records: {
    apiKeys: { get: () => Promise.reject(gone), watch: () => () => undefined },
    delegations: {
      tokenVersion: () => Promise.reject(gone),
      get: () => Promise.reject(gone),
      watch: () => () => undefined,
    },
    runs: { get: () => Promise.reject(gone), sharingIn: () => Promise.reject(gone) },
    sandboxes: { get: () => Promise.reject(gone) },
    timeline: { watch: () => () => undefined },
  },
});

describe('a stream that was begun in a browser', () => {
  test('is cut off when the state of its session is unknown, also before it is read', async () => {
    const body = new PassThrough();
    const closed = new Promise((resolve) => body.once('close', resolve));
    await guardCredential(
      depsWith(() => Promise.reject(gone)),
      ALICE,
      () => undefined,
      () => Promise.resolve({ statusCode: 200, headers: {}, body }),
    );
    await closed;
    // An unhandled error would have ended this process.
    await expect(pipeline(body, new PassThrough())).rejects.toBe(gone);
  });

  test('may fail before the records say who shares its run', async () => {
    const found = Promise.withResolvers<undefined>();
    const deps = depsWith(() => Promise.resolve(true));
    const body = new PassThrough();
    const closed = new Promise((resolve) => body.once('close', resolve));
    const guarded = guardCredential(
      { ...deps, records: { ...deps.records, runs: { ...deps.records.runs, get: () => found.promise } } },
      { ...ALICE, via: { of: 'run', id: 'run_1', needs: 'view' } },
      () => undefined,
      () => Promise.resolve({ statusCode: 200, headers: {}, body }),
    );
    void setImmediate().then(() => body.destroy(gone));
    // An unhandled error would have ended this process.
    await closed;
    found.resolve(undefined);
    expect((await guarded).body).toBe(body);
    await expect(pipeline(body, new PassThrough())).rejects.toBe(gone);
  });

  test('is not watched once it has closed', async () => {
    const body = new PassThrough().destroy();
    await once(body, 'close');
    const waits: Date[] = [];
    const clock = { ...systemClock, until: (at: Date) => Promise.resolve(void waits.push(at)) };
    let asked = 0;
    const lasts = () => Promise.resolve((asked += 1) < 100);
    await guardCredential(
      { ...depsWith(lasts), clock },
      ALICE,
      () => undefined,
      () => Promise.resolve({ statusCode: 200, headers: {}, body }),
    );
    await setImmediate();
    expect([asked, waits]).toEqual([1, []]);
  });

  test('is closed when the records fail', async () => {
    const body = new PassThrough();
    const guarded = guardCredential(
      depsWith(() => Promise.resolve(true)),
      { ...ALICE, via: { of: 'run', id: 'run_1', needs: 'view' } },
      () => undefined,
      () => Promise.resolve({ statusCode: 200, headers: {}, body }),
    );
    await expect(guarded).rejects.toBe(gone);
    expect(body.destroyed).toBe(true);
  });

  test('is cut off while its handler waits for the next event', async () => {
    async function* events(signal: AbortSignal | undefined) {
      yield 'first';
      await once(signal ?? new EventTarget(), 'abort');
      yield 'after the end of the session';
    }
    let isValid = true;
    const { body } = await guardCredential(
      depsWith(() => {
        const answer = isValid ? Promise.resolve(true) : Promise.reject(gone);
        isValid = false;
        return answer;
      }),
      { ...ALICE, session: { id: 'ses_1', expiresAt: new Date(Date.now() + 50) } },
      () => undefined,
      (signal) => Promise.resolve({ statusCode: 200, headers: {}, body: Readable.from(events(signal())) }),
    );
    const read: string[] = [];
    const reading = pipeline(body as Readable, async (parts: AsyncIterable<string>) => {
      for await (const part of parts) read.push(part);
    });
    await expect(reading).rejects.toBe(gone);
    expect(read).toEqual(['first']);
  });

  test('goes on while it lasts', async () => {
    const body = Readable.from(['a', 'b']);
    await guardCredential(
      depsWith(() => Promise.resolve(true)),
      ALICE,
      () => undefined,
      () => Promise.resolve({ statusCode: 200, headers: {}, body }),
    );
    expect(await body.toArray()).toEqual(['a', 'b']);
  });
});
