import { NO_SECRETS } from '#core/network/network-secrets.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import type { ExecCommand } from '#core/sandboxes/sandbox-provider.ts';
import { TERMINAL_LIMITS } from '#core/terminals/shared-terminal.ts';
import { type TerminalRequest, Terminals } from '#core/terminals/terminals.ts';
import { aSandbox } from '#test/contracts/records/samples.ts';
import { FakeShell, FakeViewer, until } from './doubles.ts';

const PLAIN: TerminalRequest = {
  sessionId: undefined,
  shell: 'bash',
  size: { cols: 80, rows: 24 },
  isSizeAsked: false,
};
const of = (sessionId: string): TerminalRequest => ({ ...PLAIN, sessionId });

describe('terminals of a process', () => {
  let records: Records;
  let stopping: AbortController;
  let shells: FakeShell[];
  let refusal: Error | undefined;
  const here = { id: 'aaaa', generation: 1, env: {}, secrets: NO_SECRETS };
  beforeEach(async () => {
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    stopping = new AbortController();
    shells = [];
    refusal = undefined;
  });
  afterEach(() => records.close());

  const provider = {
    exec(_id: string, command: ExecCommand, signal?: AbortSignal) {
      if (refusal !== undefined) return Promise.reject(refusal);
      const shell = new FakeShell(command, signal);
      shells.push(shell);
      return Promise.resolve(shell);
    },
    inspect: () => Promise.resolve({ state: 'running', podName: 'pod' } as const),
  };
  const make = (keptMs = 3_600_000) =>
    new Terminals({
      sandboxes: provider,
      records,
      stopping: stopping.signal,
      limits: { ...TERMINAL_LIMITS, keptMs },
    });
  const look = async (terminals: Terminals, request: TerminalRequest, place = here) => {
    const viewer = new FakeViewer();
    (await terminals.open(place, request)).attach(viewer);
    return viewer;
  };

  test('start the shell on a terminal', async () => {
    const terminals = make();
    await terminals.open(here, { ...PLAIN, shell: '/bin/zsh', size: { cols: 100, rows: 40 } });
    expect(shells[0]?.command).toEqual({
      argv: ['/bin/zsh'],
      env: { TERM: 'xterm-256color' },
      stdin: true,
      tty: { cols: 100, rows: 40 },
    });
    await terminals.close();
  });

  test('start the shell of a session in the session', async () => {
    const terminals = make();
    await terminals.open(here, of('mine'));
    expect(shells[0]?.command).toEqual({
      script: 'sessions',
      argv: ['bash', 'exec', 'mine', '$PWD $ ', 'env', 'TERM=xterm-256color', 'bash'],
      env: {},
      stdin: true,
      tty: { cols: 80, rows: 24 },
    });
    await terminals.close();
  });

  test('exist once per session and generation of a sandbox', async () => {
    const terminals = make();
    const first = await terminals.open(here, of('one'));
    expect(await terminals.open(here, of('one'))).toBe(first);
    expect(await terminals.open(here, of('two'))).not.toBe(first);
    expect(await terminals.open({ ...here, id: 'bbbb' }, of('one'))).not.toBe(first);
    expect(await terminals.open({ ...here, generation: 2 }, of('one'))).not.toBe(first);
    expect(shells.length).toBe(4);
    await terminals.close();
  });

  test('resize on the request of any viewer', async () => {
    const terminals = make();
    await terminals.open(here, of('one'));
    await terminals.open(here, of('one'));
    await terminals.open(here, { ...of('one'), size: { cols: 7, rows: 5 }, isSizeAsked: true });
    expect(shells[0]?.sizes).toEqual([[7, 5]]);
    await terminals.close();
  });

  test('are removed if they cannot be started, for every waiter', async () => {
    const terminals = make();
    refusal = new Error('no sandbox');
    const both = [terminals.open(here, of('one')), terminals.open(here, of('one'))];
    await expect(Promise.allSettled(both)).resolves.toEqual([
      { status: 'rejected', reason: refusal },
      { status: 'rejected', reason: refusal },
    ]);
    refusal = undefined;
    await terminals.open(here, of('one'));
    expect(shells.length).toBe(1);
    await terminals.close();
  });

  test('end if they have no session and their client leaves before connecting', async () => {
    const terminals = make();
    const client = new AbortController();
    await terminals.open(here, PLAIN, client.signal);
    client.abort();
    expect(shells[0]?.signals).toEqual(['SIGHUP']);
    await terminals.open(here, PLAIN, client.signal);
    expect(shells[1]?.signals).toEqual(['SIGHUP']);
    await terminals.open(here, of('kept'), client.signal);
    expect(shells[2]?.signals).toEqual([]);
    await terminals.close();
  });

  test('are limited to 128 without a session, and free their slot when they end', async () => {
    const terminals = make();
    for (let at = 0; at < 128; at += 1) await terminals.open(here, PLAIN);
    await expect(terminals.open(here, PLAIN)).rejects.toMatchObject({ code: 'too_many_terminals' });
    await terminals.open({ ...here, id: 'bbbb' }, PLAIN);
    const viewer = new FakeViewer();
    shells[0]?.end({ code: 0 });
    shells[0]?.stdout.resume();
    await until(() => shells[0]?.stdout.closed === true);
    await new Promise((resolve) => setImmediate(resolve));
    (await terminals.open(here, PLAIN)).attach(viewer);
    await terminals.close();
    expect(viewer.sent.at(-1)).toContain('Porthole is shutting down');
  });

  test('are limited to sixteen with a session; the least recently used is closed', async () => {
    const terminals = make();
    const viewers = [];
    for (let at = 0; at < 16; at += 1) viewers.push(await look(terminals, of(`s${at}`)));
    await expect(terminals.open(here, of('more'))).rejects.toMatchObject({ code: 'too_many_terminals' });
    viewers[5]?.leave();
    await new Promise((resolve) => setTimeout(resolve, 2));
    viewers[3]?.leave();
    await terminals.open(here, of('more'));
    expect([shells[5]?.signals, shells[3]?.signals]).toEqual([['SIGHUP'], []]);
    await terminals.close();
  });

  test('have 32 viewers at most', async () => {
    const terminals = make();
    const viewers = [];
    for (let at = 0; at < 32; at += 1) viewers.push(await look(terminals, of('one')));
    await expect(terminals.open(here, of('one'))).rejects.toMatchObject({ code: 'too_many_terminals' });
    viewers[0]?.leave();
    await look(terminals, of('one'));
    await terminals.close();
  });

  test('end after a long time without viewers if they belong to a session', async () => {
    const terminals = make(48);
    const watched = await look(terminals, of('watched'));
    (await look(terminals, of('left'))).leave();
    await until(() => shells[1]?.signals.length === 1);
    expect(shells[0]?.signals).toEqual([]);
    expect(watched.closedWith).toBeUndefined();
    await terminals.close();
  });

  test('end together with their session', async () => {
    const terminals = make();
    const viewer = await look(terminals, of('one'));
    terminals.endSession(here, 'other');
    terminals.endSession(here, 'one');
    await until(() => viewer.closedWith !== undefined);
    expect([viewer.closedWith, shells[0]?.signals]).toEqual([[1001, ''], ['SIGHUP']]);
    await look(terminals, of('one'));
    expect(shells.length).toBe(2);
    await terminals.close();
  });

  test.each([
    ['running', 1011, 'The connection to the terminal in sandbox ID was lost: open it again.'],
    [
      'stopped',
      1001,
      'Sandbox ID was stopped, and its terminal ended with it. POST /v1/sandbox/ID/resume brings it back with its files.',
    ],
    [
      'destroyed',
      1001,
      'Sandbox ID was deleted, and its terminal ended with it. Create a sandbox with POST /v1/sandbox.',
    ],
  ] as const)('report the reason when they are lost to a %s', async (desired, code, message) => {
    const terminals = make();
    const record = aSandbox('cccc');
    const made = await records.sandboxes.create(record);
    await records.sandboxes.setDesired('cccc', desired);
    const viewer = await look(terminals, PLAIN, {
      id: 'cccc',
      generation: made?.generation ?? 0,
      env: {},
      secrets: NO_SECRETS,
    });
    shells[0]?.lose();
    await until(() => viewer.closedWith !== undefined);
    expect(viewer.closedWith).toEqual([code, '']);
    expect(JSON.parse(viewer.sent.at(-1) ?? '')).toEqual({
      type: 'error',
      message: message.replaceAll('ID', 'cccc'),
    });
  });

  test('end with the process, and no more are opened', async () => {
    const terminals = make();
    const viewers = [await look(terminals, PLAIN), await look(terminals, of('one'))];
    stopping.abort();
    await terminals.close();
    expect(viewers.map(({ closedWith }) => closedWith)).toEqual([
      [1001, ''],
      [1001, ''],
    ]);
    await expect(terminals.open(here, PLAIN)).rejects.toMatchObject({ code: 'service_unavailable' });
  });
});
