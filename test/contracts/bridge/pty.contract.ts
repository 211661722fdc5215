import { afterAll, describe, expect, test } from '@jest/globals';
import {
  openTerminal,
  refusedTerminal,
  type TerminalClient,
  type TerminalOptions,
} from '#test/host/support/terminals.ts';
import type { UnderTest } from '../bridge.contract.ts';
import { ask, create, refusal, run } from './bridge-client.ts';

export function ptyContract(bridge: UnderTest, id: () => string): void {
  describe('a terminal', () => {
    const opened: TerminalClient[] = [];
    afterAll(() => {
      for (const { socket } of opened) socket.terminate();
    });

    const open = async (query: TerminalOptions['query'] = {}, sandbox = id()) => {
      const terminal = await openTerminal(bridge().port, sandbox, { query, token: bridge().key });
      opened.push(terminal);
      return terminal;
    };
    const refused = async (options: TerminalOptions) => {
      const answer = await refusedTerminal(bridge().port, id(), { token: bridge().key, ...options });
      return [answer.status, answer.body];
    };

    test('shows a shell, in the workspace, of the size that is asked for', async () => {
      const terminal = await open({ cols: 101, rows: 37 });
      terminal.type('stty size; echo "$TERM in $PWD"\r');
      await terminal.shows('37 101');
      await terminal.shows('xterm-256color in /workspace');
      terminal.socket.close();
    });

    test('changes its size', async () => {
      const terminal = await open();
      terminal.type('stty size\r');
      await terminal.shows('24 80');
      terminal.socket.send(JSON.stringify({ type: 'resize', cols: 133, rows: 44 }));
      // The new size and the input may take two different paths.
      terminal.type('until stty size | grep -q ^44; do sleep 0.05; done; stty size\r');
      await terminal.shows('44 133');
      terminal.socket.close();
    });

    test('tells its exit after everything it showed, and closes with 1000', async () => {
      const terminal = await open();
      terminal.type('head -c 300000 /dev/zero | tr "\\\\0" x; echo; exit 42\r');
      expect(await terminal.closed).toBe(1000);
      expect(terminal.messages.at(-1)).toEqual({ type: 'exit', code: 42 });
      expect(terminal.reported).toEqual([{ type: 'ready' }, { type: 'exit', code: 42 }]);
      expect(terminal.output.toString()).toMatch(/x{300000}/);
    });

    test('answers what is no control message, and goes on', async () => {
      const terminal = await open();
      terminal.socket.send('no json');
      terminal.socket.send(JSON.stringify({ type: 'resize', cols: 0, rows: 5 }));
      terminal.socket.send(JSON.stringify({ type: 'unknown' }));
      await terminal.until(({ reported }) => reported.length >= 3);
      expect(terminal.reported.slice(1)).toEqual([
        { type: 'error', message: 'Invalid control message' },
        { type: 'error', message: 'Invalid dimensions: cols and rows must be positive' },
      ]);
      terminal.type('echo still here\r');
      await terminal.shows(/still here\r?\n/);
      terminal.socket.close();
    });

    test('survives its client when it has a session, and shows again what it showed', async () => {
      const first = await open({ session: 'shared' });
      first.type('echo once-$((6*7))\r');
      await first.shows('once-42');
      await first.leave();
      const headers = { 'session-id': 'shared' };
      const second = await openTerminal(bridge().port, id(), { headers, token: bridge().key });
      const readyAt = second.messages.findIndex((message) => !(message instanceof Buffer));
      expect(Buffer.concat(second.messages.slice(0, readyAt) as Buffer[]).toString()).toContain('once-42');
      const third = await open({ session: 'shared' });
      third.type('echo to-$((1+1))-both\r');
      await Promise.all([second.shows('to-2-both'), third.shows('to-2-both')]);
      third.type('exit\r');
      expect(await Promise.all([second.closed, third.closed])).toEqual([1000, 1000]);
    });

    test('begins in the folder of its session, with its environment', async () => {
      await run(bridge(), id(), ['eval', 'mkdir -p deep; cd deep; export MOTTO=onward'], {
        session: 'place',
      });
      const terminal = await open({ session: 'place' });
      terminal.type('echo "[$MOTTO in $PWD on $TERM]"; exit\r');
      await terminal.closed;
      expect(terminal.output.toString()).toContain('[onward in /workspace/deep on xterm-256color]');
    });

    test('ends with its socket when it has no session', async () => {
      const terminal = await open();
      terminal.type('echo pid-$$-\r');
      await terminal.shows(/pid-\d+-/);
      const pid = /pid-(\d+)-/.exec(terminal.output.toString())?.[1] ?? '';
      terminal.socket.close();
      for (let code: number | undefined = 0; code === 0; ) {
        ({ code } = await run(bridge(), id(), ['sh', '-c', 'grep -qv ") Z " "/proc/$1/stat"', 'sh', pid]));
      }
    });

    test('ends with its sandbox', async () => {
      const other = await create(bridge());
      const terminal = await open({ session: 's' }, other);
      await ask(bridge(), 'DELETE', `/v1/sandbox/${other}`);
      expect(await terminal.closed).toBeGreaterThanOrEqual(1000);
    });

    test('is asked for by a WebSocket alone', async () => {
      expect(refusal(await ask(bridge(), 'GET', `/v1/sandbox/${id()}/pty`))).toEqual([
        400,
        'invalid_request',
        'WebSocket upgrade required',
      ]);
    });

    test.each<[string, TerminalOptions['query'], string]>([
      ['no number of columns', { cols: 'x' }, 'cols and rows must be valid numbers'],
      ['no number of rows', { rows: 'many' }, 'cols and rows must be valid numbers'],
      ['a session id that is none', { session: 'a/b' }, 'Invalid session ID format'],
    ])('is refused with %s before it is opened', async (_what, query = {}, error) => {
      expect(await refused({ query })).toEqual([400, { error, code: 'invalid_request', retryable: false }]);
    });

    test('asks for the key', async () => {
      expect(await refused({ token: 'wrong' })).toEqual([
        401,
        { error: 'Unauthorized', code: 'unauthorized', retryable: false },
      ]);
    });
  });
}
