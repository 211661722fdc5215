import { describe, expect, test } from '@jest/globals';
import { PortholeError } from '#base/errors.ts';
import { lineLogger } from '#host/serverless/line-logger.ts';

function logged(level: string) {
  const lines: string[] = [];
  const log = lineLogger({ level, write: (line) => lines.push(line) });
  return { log, lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('the logger of functions', () => {
  test('writes a line of JSON', () => {
    const { log, lines } = logged('info');
    log.info({ run_id: 'r-1' }, 'request');
    expect(lines()).toEqual([
      { level: 'info', time: expect.stringMatching(/^\d{4}-.*Z$/), run_id: 'r-1', msg: 'request' },
    ]);
  });

  test.each([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['silent', []],
  ])('writes at level %s what is no less severe', (level, written) => {
    const { log, lines } = logged(level);
    for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]({}, 'm');
    expect(lines().map((line) => line['level'])).toEqual(written);
  });

  test('shows an error with its cause', () => {
    const { log, lines } = logged('info');
    const cause = new Error('refused');
    log.error({ err: new PortholeError('service_unavailable', 'Later.', { cause }) }, 'request failed');
    expect(lines()[0]?.['err']).toEqual({
      type: 'PortholeError',
      message: 'Later.',
      stack: expect.stringContaining('line-logger.test.ts'),
      code: 'service_unavailable',
      cause: { type: 'Error', message: 'refused', stack: expect.any(String) },
    });
  });

  test('takes out what has the form of a token', () => {
    const { log, lines } = logged('info');
    log.warn({ url: 'https://x.example/?token=abcdef' }, 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln');
    expect(lines()).toMatchObject([{ url: 'https://x.example/?token=[redacted]', msg: '[signed token]' }]);
  });
});
