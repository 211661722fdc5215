import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { readExecStatus } from '#adapters/kubernetes/sandboxes/exec/exec-status.ts';

const ended = (message: unknown, reason = 'NonZeroExitCode') =>
  JSON.stringify({ status: 'Failure', reason, details: { causes: [{ reason: 'ExitCode', message }] } });

describe('the Status of an exec', () => {
  test.each([
    ['Success is exit code 0', '{"metadata":{},"status":"Success"}', { kind: 'exit', code: 0 }],
    ['a cause tells another code', ended('137'), { kind: 'exit', code: 137 }],
    ['a code that is no number is none', ended('-1'), { kind: 'failure', message: 'no reason was given' }],
    ['a code must be text', ended(3), { kind: 'failure', message: 'no reason was given' }],
    [
      'a failure of another reason is no exit',
      '{"status":"Failure","reason":"InternalError","message":"no such container"}',
      { kind: 'failure', message: 'no such container' },
    ],
    ['null is no Status', 'null', { kind: 'failure', message: 'no reason was given' }],
    [
      'nothing is no Status',
      '',
      { kind: 'failure', message: 'the API server ended the command without a Status' },
    ],
  ])('%s', (_title, text, status) => {
    expect(readExecStatus(text)).toEqual(status);
  });

  test('is an exit of 0 only where it says Success, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = readExecStatus(JSON.stringify(value));
        const isSuccess = (value as { status?: unknown } | null)?.status === 'Success';
        expect(read.kind === 'exit' && read.code === 0).toBe(isSuccess);
      }),
    );
  });
});
