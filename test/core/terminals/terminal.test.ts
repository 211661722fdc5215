import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ReplayRing } from '#core/runs/event-log.ts';
import { Terminal } from '#core/terminals/shared-terminal.ts';
import { FakeShell, FakeViewer, until } from './doubles.ts';

const MIB = 1024 * 1024;
const READY = '{"type":"ready"}';

function make({ shared = false } = {}): { shell: FakeShell; terminal: Terminal } {
  const running = new AbortController();
  const shell = new FakeShell({ argv: ['bash'] }, running.signal);
  const terminal = new Terminal({
    process: shell,
    abort: () => running.abort(),
    whyLost: () => Promise.resolve({ message: { type: 'error', message: 'lost' }, closeCode: 1011 }),
    ring: shared ? new ReplayRing(16) : undefined,
  });
  return { shell, terminal };
}

function attached(terminal: Terminal): FakeViewer {
  const viewer = new FakeViewer();
  terminal.attach(viewer);
  return viewer;
}

afterEach(() => {
  jest.useRealTimers();
});

describe('a terminal', () => {
  test('buffers output until the first viewer, and loses nothing', async () => {
    const { shell, terminal } = make();
    shell.print('early ');
    shell.end({ code: 4 });
    const viewer = attached(terminal);
    await terminal.over;
    expect(viewer.sent).toEqual([READY, 'early ', '{"type":"exit","code":4}']);
    expect(viewer.closedWith).toEqual([1000, '']);
  });

  test('reports a signal as the exit code that shells use', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    shell.end({ signal: 'SIGKILL' });
    await terminal.over;
    expect(viewer.sent.at(-1)).toBe('{"type":"exit","code":137,"signal":"SIGKILL"}');
  });

  test('reports a lost connection, never as an exit code', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    shell.print('half');
    await until(() => viewer.sent.includes('half'));
    shell.lose();
    await terminal.over;
    expect(viewer.sent.at(-1)).toBe('{"type":"error","message":"lost"}');
    expect(viewer.closedWith).toEqual([1011, '']);
  });

  test('sends a later viewer the recent output, then ready, then live output', async () => {
    const { shell, terminal } = make({ shared: true });
    attached(terminal).leave();
    shell.print('0123456789abcdefghij');
    await until(() => shell.stdout.readableLength === 0);
    const viewer = attached(terminal);
    shell.print('live');
    await until(() => viewer.sent.length === 3);
    expect(viewer.sent).toEqual(['456789abcdefghij', READY, 'live']);
    expect(shell.signals).toEqual([]);
    await terminal.hangUp();
  });

  test('reports the end to a viewer that connects just after it', async () => {
    const { shell, terminal } = make({ shared: true });
    const first = attached(terminal);
    shell.print('bye');
    shell.end({ code: 0 });
    await terminal.over;
    const late = attached(terminal);
    expect(late.sent).toEqual(['bye', READY, '{"type":"exit","code":0}']);
    expect([first.closedWith, late.closedWith]).toEqual([
      [1000, ''],
      [1000, ''],
    ]);
  });

  test('hangs up when its viewer leaves and it has no session', async () => {
    const { shell, terminal } = make();
    attached(terminal).leave();
    await terminal.over;
    expect(shell.signals).toEqual(['SIGHUP']);
  });

  test('kills a shell that survives the hang-up', async () => {
    jest.useFakeTimers();
    const { shell, terminal } = make();
    shell.diesOfHangUp = false;
    attached(terminal).leave();
    jest.advanceTimersByTime(7_999);
    expect(shell.isAborted).toBe(false);
    jest.advanceTimersByTime(1);
    await terminal.over;
    expect(shell.isAborted).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a viewer that does not read', () => {
  test('applies backpressure to the program, so that buffers are bounded', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    viewer.isReading = false;
    let isFull = false;
    while (!isFull) {
      isFull = !shell.stdout.write(Buffer.alloc(32 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(viewer.waiting).toBeGreaterThan(MIB / 2);
    expect(viewer.waiting).toBeLessThan(MIB / 2 + 128 * 1024);
    const drained = new Promise((resolve) => shell.stdout.once('drain', resolve));
    viewer.readOn();
    await drained;
    await terminal.hangUp();
  });

  test('pauses by message, and resumes by message', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    viewer.type('{"type":"pause"}');
    shell.print('later');
    await new Promise((resolve) => setImmediate(resolve));
    expect(viewer.sent).toEqual([READY]);
    viewer.type('{"type":"resume"}');
    await until(() => viewer.sent.includes('later'));
    await terminal.hangUp();
  });

  test('releases its backpressure when it leaves', async () => {
    const { shell, terminal } = make({ shared: true });
    const gone = attached(terminal);
    const other = attached(terminal);
    gone.type('{"type":"pause"}');
    gone.leave();
    shell.print('on');
    await until(() => other.sent.includes('on'));
    await terminal.hangUp();
  });

  test('blocks while it is alone, and is disconnected once it blocks another viewer', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { shell, terminal } = make({ shared: true });
    const slow = attached(terminal);
    slow.isReading = false;
    for (let at = 0; at < 20; at += 1) {
      shell.print(Buffer.alloc(32 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    jest.advanceTimersByTime(60_000);
    expect(slow.closedWith).toBeUndefined();
    const quick = attached(terminal);
    jest.advanceTimersByTime(10_000);
    expect(slow.closedWith).toEqual([1013, 'too slow']);
    shell.print('goes on');
    await until(() => quick.sent.some((text) => text.endsWith('goes on')));
    expect(quick.closedWith).toBeUndefined();
    await terminal.hangUp();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a terminal without viewers', () => {
  test('throttles its program, and resumes full speed for a viewer', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    const { shell, terminal } = make({ shared: true });
    attached(terminal).leave();
    for (let at = 0; at < 40; at += 1) {
      shell.print(Buffer.alloc(32 * 1024, 'x'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(shell.stdout.isPaused()).toBe(true);
    // A chunk in transit counts on both sides of the pipe.
    const left = () => shell.stdout.readableLength + shell.stdout.writableLength;
    expect(left()).toBeGreaterThanOrEqual(MIB);
    jest.advanceTimersByTime(100);
    await until(() => left() < MIB && shell.stdout.isPaused());
    expect(left()).toBeGreaterThanOrEqual(MIB - 256 * 1024);
    const viewer = attached(terminal);
    await until(() => left() === 0);
    expect(viewer.sent.join('').length).toBe(16 + READY.length + MIB - 256 * 1024);
    await terminal.hangUp();
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('terminal input', () => {
  test('reaches the program; text messages do not', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    viewer.type(Buffer.from('ls\n'));
    viewer.type('{"type":"resize","cols":10,"rows":5}');
    viewer.type('{"type":"resize","cols":0,"rows":5}');
    expect(shell.typed).toBe('ls\n');
    expect(shell.sizes).toEqual([[10, 5]]);
    expect(viewer.sent.at(-1)).toBe(
      '{"type":"error","message":"Invalid dimensions: cols and rows must be positive"}',
    );
    await terminal.hangUp();
  });

  test('bounds the echo of unreadable input', async () => {
    const { terminal } = make();
    const viewer = attached(terminal);
    viewer.isReading = false;
    for (let at = 0; at < 20_000; at += 1) viewer.type('nonsense');
    expect(viewer.waiting).toBeGreaterThan(MIB / 2 - 100);
    expect(viewer.waiting).toBeLessThan(MIB / 2 + 100);
    await terminal.hangUp();
  });

  test('collapses a flood of sizes to the last one', async () => {
    jest.useFakeTimers();
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    for (let cols = 1; cols <= 1_000; cols += 1) viewer.type(`{"type":"resize","cols":${cols},"rows":9}`);
    expect(shell.sizes.length).toBe(100);
    jest.advanceTimersByTime(1_000);
    expect([shell.sizes.length, shell.sizes.at(-1)]).toEqual([101, [1_000, 9]]);
    viewer.type('{"type":"resize","cols":7,"rows":9}');
    expect(shell.sizes.at(-1)).toEqual([7, 9]);
    await terminal.hangUp();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('buffers a bounded amount for a program that does not read', async () => {
    const { shell, terminal } = make();
    const viewer = attached(terminal);
    shell.isReading = false;
    viewer.type(Buffer.alloc(MIB / 2, 'a'));
    expect(viewer.isPaused).toBe(false);
    viewer.type(Buffer.alloc(MIB / 2, 'b'));
    expect(viewer.isPaused).toBe(true);
    shell.readOn();
    await until(() => !viewer.isPaused);
    await until(() => shell.typed.length === MIB);
    expect(viewer.closedWith).toBeUndefined();
    await terminal.hangUp();
  });

  test('lets its viewer leave if the program never reads', async () => {
    jest.useFakeTimers();
    const { shell, terminal } = make({ shared: true });
    const [stuck, other] = [attached(terminal), attached(terminal)];
    shell.isReading = false;
    stuck.type(Buffer.alloc(MIB));
    jest.advanceTimersByTime(59_999);
    expect(stuck.closedWith).toBeUndefined();
    jest.advanceTimersByTime(1);
    expect(stuck.closedWith).toEqual([1008, 'the program does not read its input']);
    expect([stuck.isPaused, other.closedWith]).toEqual([false, undefined]);
    stuck.type(Buffer.from('more'));
    expect(shell.stdin.writableLength).toBe(MIB);
    await terminal.hangUp();
    expect(jest.getTimerCount()).toBe(0);
  });
});
