import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { lastLineOf, Progress } from '../../client/cli/up/progress.ts';

/** What the steps of a progress write, on a terminal or elsewhere. */
function progressOn({ isTTY = false, isJson = false }) {
  const written: string[] = [];
  const keep = (line: string): Promise<void> => Promise.resolve(void written.push(line));
  const stderr = {
    isTTY,
    columns: 40,
    write: (text: string) => (written.push(text), true),
  } as unknown as NodeJS.WriteStream;
  const { signal } = new AbortController();
  const context = { print: keep, note: keep, signal, streams: { stderr } };
  return { written, progress: new Progress(context, isJson) };
}

describe('Progress', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A step of 40 s that prints two lines. */
  const install = async (progress: Progress): Promise<void> => {
    const step = progress.step(
      'Installing',
      async (report) => {
        report('resolved 3');
        await jest.advanceTimersByTimeAsync(6_000);
        report('resolved 40 of 41 packages');
        await jest.advanceTimersByTimeAsync(34_000);
      },
      () => 'Installed',
    );
    await step;
  };

  test('writes a line now and then where there is no terminal', async () => {
    const { written, progress } = progressOn({});
    await install(progress);
    expect(written).toEqual([
      'Installing…',
      'Installing… 5 s: resolved 3',
      'Installing… 20 s: resolved 40 of 41 packages',
      'Installing… 35 s: resolved 40 of 41 packages',
      'Installed (40.0 s)',
    ]);
  });

  test('replaces the last line of a terminal, within its width', async () => {
    const { written, progress } = progressOn({ isTTY: true });
    await install(progress);
    expect(written.slice(0, 4)).toEqual([
      'Installing…',
      '\r\u001B[2KInstalling… 5 s: resolved 3',
      '\r\u001B[2KInstalling… 6 s: resolved 3',
      '\r\u001B[2KInstalling… 7 s: resolved 40 of 41 pack',
    ]);
    expect(written.slice(-2)).toEqual(['\r\u001B[2K', 'Installed (40.0 s)']);
  });

  test('prints events with --json', async () => {
    const { written, progress } = progressOn({ isJson: true });
    await install(progress);
    const events = written.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events[0]).toEqual({ event: 'progress', step: 'Installing', seconds: 5, line: 'resolved 3' });
    expect(events.at(-1)).toMatchObject({ event: 'step', step: 'Installing', result: 'Installed' });
  });

  test('names the step that fails', async () => {
    const { written, progress } = progressOn({});
    const fail = () => Promise.reject(new Error('no'));
    await expect(progress.step('Sending files', fail, () => undefined)).rejects.toThrow('no');
    expect(written).toEqual(['Failed after 0.0 s: Sending files']);
  });
});

describe('lastLineOf', () => {
  test('joins the chunks of a line, and leaves colours out', () => {
    const lines: string[] = [];
    const take = lastLineOf((line) => lines.push(line));
    for (const chunk of ['one\ntw', 'o\r', '\u001B[32mthree\u001B[0m\n', '\n'])
      take(new TextEncoder().encode(chunk));
    expect(lines).toEqual(['tw', 'two', 'three']);
  });
});
