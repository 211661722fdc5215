import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { PortholeError } from '#base/errors.ts';
import { connectErrorShape, messageStream, onlyMessage } from '#handlers/e2b/connect-protocol.ts';

/** An envelope as https://connectrpc.com/docs/protocol has it. */
function envelope(flags: number, message: string, length = Buffer.byteLength(message)): Buffer {
  const head = Buffer.from([flags, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(message)]);
}

async function envelopesOf(body: unknown): Promise<{ flags: number; message: unknown }[]> {
  const all = await buffer(body as Readable);
  const envelopes: { flags: number; message: unknown }[] = [];
  for (let at = 0; at < all.length; ) {
    const end = at + 5 + all.readUInt32BE(at + 1);
    envelopes.push({ flags: all.readUInt8(at), message: JSON.parse(all.toString('utf8', at + 5, end)) });
    at = end;
  }
  return envelopes;
}

describe('the message of a call with a stream of answers', () => {
  test('is read from its envelope', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(onlyMessage(envelope(0, text)).toString()).toBe(text);
      }),
    );
  });

  test.each([
    ['no bytes', Buffer.alloc(0), 'it has 0 bytes'],
    ['half a head', Buffer.from([0, 0, 0]), 'it has 3 bytes'],
    ['a compressed one', envelope(1, '{}'), 'its flags are 1, and compression is not supported'],
    ['the end of a stream', envelope(2, '{}'), 'its flags are 2'],
    ['a length of 4 GiB', envelope(0, '{}', 0xff_ff_ff_ff), 'it announces 4294967295 bytes, and 2 came'],
    ['a length below what came', envelope(0, '{}', 1), 'it announces 1 bytes, and 2 came'],
    [
      'two messages',
      Buffer.concat([envelope(0, '{}'), envelope(0, '{}')]),
      'it announces 2 bytes, and 9 came',
    ],
  ])('is refused: %s', (_what, body, reason) => {
    expect(() => onlyMessage(body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(reason) }),
    );
  });

  test('is never anything but a value or a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          onlyMessage(Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_request' });
        }
      }),
    );
  });
});

describe('a stream of answers', () => {
  const never = new AbortController().signal;
  const survived = () => Promise.resolve(false);

  test('ends with an envelope that has no error', async () => {
    async function* two() {
      yield { a: 1 };
      yield { b: '\u{1F600}' };
    }
    const { statusCode, headers, body } = messageStream(two(), never, survived);
    expect([statusCode, headers['content-type']]).toEqual([200, 'application/connect+json']);
    expect(await envelopesOf(body)).toEqual([
      { flags: 0, message: { a: 1 } },
      { flags: 0, message: { b: '\u{1F600}' } },
      { flags: 2, message: {} },
    ]);
  });

  test.each([
    [
      new PortholeError('process_not_found', 'There is no process 7'),
      { code: 'not_found', message: 'There is no process 7 (process_not_found)' },
    ],
    [new Error('a secret of the host'), { code: 'internal', message: 'Something went wrong.' }],
  ])('has the error in its last envelope: %s', async (thrown, error) => {
    async function* failing() {
      yield { a: 1 };
      throw thrown;
    }
    expect(await envelopesOf(messageStream(failing(), never, survived).body)).toEqual([
      { flags: 0, message: { a: 1 } },
      { flags: 2, message: { error } },
    ]);
  });

  test.each(['exec_transport_error', 'sandbox_not_found'] as const)(
    'says that its sandbox was destroyed, and otherwise is cut off: %s',
    async (code) => {
      async function* lost() {
        yield { a: 1 };
        throw new PortholeError(code, 'lost');
      }
      const killed = messageStream(lost(), never, () => Promise.resolve(true));
      expect((await envelopesOf(killed.body)).at(-1)).toEqual({
        flags: 2,
        message: {
          error: {
            code: 'unavailable',
            message: expect.stringContaining('killed or reached its end of life'),
          },
        },
      });
      await expect(envelopesOf(messageStream(lost(), never, survived).body)).rejects.toThrow('lost');
    },
  );

  test('ends without one where no client waits any more', async () => {
    const over = new AbortController();
    async function* cut() {
      yield { a: 1 };
      over.abort();
      throw new Error('aborted');
    }
    expect(await envelopesOf(messageStream(cut(), over.signal, survived).body)).toEqual([
      { flags: 0, message: { a: 1 } },
    ]);
  });
});

test.each([
  [{ code: 'unauthorized', error: 'no', retryable: false }, 401, 401, 'unauthenticated'],
  [{ code: 'sandbox_not_found', error: 'no', retryable: false }, 404, 404, 'not_found'],
  [{ code: 'file_exists', error: 'no', retryable: false }, 409, 409, 'already_exists'],
  [{ code: 'conflict', error: 'no', retryable: false }, 409, 400, 'failed_precondition'],
  [{ code: 'unsupported_media_type', error: 'no', retryable: false }, 415, 501, 'unimplemented'],
  [{ code: 'payload_too_large', error: 'no', retryable: false }, 413, 429, 'resource_exhausted'],
  [{ code: 'internal_error', error: 'no', retryable: true }, 500, 500, 'internal'],
] as const)('gives %j the code of the protocol, and its status', (error, status, shownStatus, code) => {
  expect(connectErrorShape(error, status)).toEqual({
    status: shownStatus,
    body: { code, message: `no (${error.code})` },
  });
});
