import { beforeAll, expect, test } from '@jest/globals';
import type { TestHost } from '#test/support/in-process-host.ts';
import { ALICE } from '../support/people.ts';
import type { Terminals } from '../support/terminals.ts';

/** Terminals of sessions, which outlive their viewers. `fresh` makes a sandbox. */
export function terminalSessions(porthole: () => TestHost, fresh: () => Promise<Terminals>): void {
  let here: Terminals;
  beforeAll(async () => {
    here = await fresh();
  });

  test('keeps its program running meanwhile, and shows exactly the last 256 KiB again', async () => {
    const query = { session: 'ring' };
    const first = await here.quiet({ query });
    first.type("seq -f '%09.0f' 1 50000; touch printed; sleep 1000\n");
    await first.leave();
    await here.eventually('[ -e printed ]');
    const second = await here.open({ query });
    const [replay, ready] = second.messages;
    expect(ready).toEqual({ type: 'ready' });
    expect((replay as Buffer).length).toBe(262_144);
    const whole = Buffer.from(
      Array.from({ length: 50_000 }, (_, n) => `${String(n + 1).padStart(9, '0')}\r\n`).join(''),
    );
    // The last bytes may still be in transit and then follow.
    await second.until(({ output }) => output.subarray(-11).toString() === '000050000\r\n');
    expect(second.output.equals(whole.subarray(-second.output.length))).toBe(true);
    second.type('\x03');
    second.type('exit\n');
    await second.closed;
  });

  test('shows all its viewers the same, lets all of them type, and reports its end to them', async () => {
    const first = await here.quiet({ query: { session: 'shared', cols: 100, rows: 30 } });
    const second = await here.open({ headers: { 'Session-Id': 'shared' }, query: { session: 'another' } });
    second.type('echo from se""cond; stty size\n');
    await Promise.all([first.shows('from second\r\n30 100\r\n'), second.shows('from second\r\n30 100\r\n')]);
    const third = await here.open({ query: { session: 'shared', cols: 70, rows: 20 } });
    third.type('stty size; exit 5\n');
    expect(await Promise.all([first, second, third].map(({ closed }) => closed))).toEqual([1000, 1000, 1000]);
    for (const viewer of [first, second, third]) {
      expect(viewer.messages.at(-1)).toEqual({ type: 'exit', code: 5 });
      expect(viewer.output.toString()).toContain('20 70\r\n');
    }
  });

  test('begins anew after its end', async () => {
    const query = { session: 'again' };
    const first = await here.quiet({ query });
    first.type('gone=1; exit\n');
    await first.closed;
    const second = await here.open({ query });
    second.type('echo "gone: ${gone-yes}"; exit\n');
    await second.closed;
    expect(second.output.toString()).toContain('gone: yes');
  });

  test('ends with the session', async () => {
    const viewer = await here.quiet({ query: { session: 'deleted' } });
    const path = `/v1/sandbox/${here.id}/session/deleted`;
    expect((await porthole().call('DELETE', path, { token: ALICE })).status).toBe(204);
    expect(await viewer.closed).toBe(1001);
    expect(viewer.messages.at(-1)).toEqual({
      type: 'error',
      message: 'The session was deleted, and its terminal with it.',
    });
  });

  test('gives two viewers that come at once the same terminal', async () => {
    const query = { session: 'race' };
    const [one, other] = await Promise.all([here.open({ query }), here.open({ query })]);
    one.type('echo "shell $$ e""nd"\n');
    await Promise.all([one.shows(' end'), other.shows(' end')]);
    other.type('exit\n');
    expect(await Promise.all([one.closed, other.closed])).toEqual([1000, 1000]);
  });

  test('replaces the one that was left first when a seventeenth opens', async () => {
    const own = await fresh();
    const names = Array.from({ length: 16 }, (_, n) => `s${n}`);
    for (const session of names) await (await own.open({ query: { session } })).leave();
    const extra = await own.open({ query: { session: 'extra' } });
    expect(await own.eventually('[ "$(pgrep -xc bash)" = 17 ]')).toBe(true);
    await own.destroy();
    await extra.closed;
  });

  test('replaces none of sixteen that have viewers', async () => {
    const own = await fresh();
    const all = await Promise.all(
      Array.from({ length: 16 }, (_, n) => own.open({ query: { session: `s${n}` } })),
    );
    const answer = await own.refused({ query: { session: 'extra' } });
    expect([answer.status, answer.body['code']]).toEqual([429, 'too_many_terminals']);
    await own.destroy();
    await Promise.all(all.map(({ closed }) => closed));
  });

  test('is another after its sandbox is deleted and created again', async () => {
    const own = await fresh();
    const query = { session: 'same' };
    const first = await own.open({ query });
    first.type('old=1\n');
    await own.destroy();
    const second = await own.open({ query });
    second.type('echo "old: ${old-no}"; exit\n');
    expect(await second.closed).toBe(1000);
    expect(second.output.toString()).toContain('old: no');
  });
}
