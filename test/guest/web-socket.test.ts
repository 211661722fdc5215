/** The WebSocket codec: the same messages for any split into pieces. */
import { array, assert, nat, property, tuple, uint8Array } from 'fast-check';
import { expect, test } from '@jest/globals';
import { EXEC } from '#protocol/guest/exec-protocol.ts';
import { acceptKey, WebSocketReader, WebSocketWriter } from '#protocol/guest/web-socket-protocol.ts';

type Sent = { readonly type: number; readonly payload: Buffer };

function collect(reader: WebSocketReader, chunks: readonly Buffer[]): Sent[] {
  const messages: { type: number; payload: Buffer }[] = [];
  for (const chunk of chunks) {
    for (const { kind, payload, ...rest } of reader.read(Buffer.from(chunk))) {
      const type = kind === 'binary' ? (rest as { type: number }).type : -1;
      const last = messages.at(-1);
      // Data comes in pieces: adjacent ones of a type are merged.
      if (last?.type === type && type >= 0) last.payload = Buffer.concat([last.payload, payload]);
      else messages.push({ type, payload: Buffer.from(payload) });
    }
  }
  return messages;
}

test.each(['client', 'server'] as const)(
  'reads what the other side wrote, cut anywhere, on the %s',
  (side) => {
    const writer = new WebSocketWriter(side === 'client' ? 'server' : 'client');
    const payload = uint8Array({ minLength: 1, maxLength: 70_000 }).map((bytes) => Buffer.from(bytes));
    const short = uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    assert(
      property(
        array(tuple(payload, short), { maxLength: 5 }),
        array(nat(80_000), { maxLength: 10 }),
        (pairs, cuts) => {
          const sent = pairs.flatMap(([data, control]): Sent[] => [
            { type: EXEC.stdout, payload: data },
            { type: EXEC.window, payload: control },
            { type: -1, payload: control },
          ]);
          const whole = Buffer.concat(
            sent.map(({ type, payload }) =>
              type < 0 ? writer.text(payload.toString('hex')) : writer.binary(type, payload),
            ),
          );
          const at = [
            0,
            ...cuts.map((cut) => cut % (whole.length + 1)).toSorted((a, b) => a - b),
            whole.length,
          ];
          const chunks = at.slice(1).map((end, index) => whole.subarray(at[index], end));
          expect(collect(new WebSocketReader(side), chunks)).toEqual(
            sent.map(({ type, payload }) => ({
              type,
              payload: type < 0 ? Buffer.from(payload.toString('hex')) : payload,
            })),
          );
        },
      ),
      { numRuns: 200 },
    );
  },
);

test('takes a mask off', () => {
  const mask = [1, 2, 3, 4];
  const bytes = [EXEC.stdin, ...Buffer.from('hello')].map(
    (byte, index) => byte ^ (mask[index & 3] as number),
  );
  const frame = Buffer.from([0x82, 0x80 | bytes.length, ...mask, ...bytes]);
  const pieces = [frame.subarray(0, 8), frame.subarray(8)];
  expect(collect(new WebSocketReader('server'), pieces)).toEqual([
    { type: EXEC.stdin, payload: Buffer.from('hello') },
  ]);
});

test('answers a handshake as RFC 6455 §1.3 shows', () => {
  expect(acceptKey('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

test('never runs on over noise: it reads, or it throws', () => {
  assert(
    property(array(uint8Array({ maxLength: 300 })), (chunks) => {
      const reader = new WebSocketReader('client');
      try {
        for (const chunk of chunks) for (const _ of reader.read(Buffer.from(chunk)));
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }),
    { numRuns: 500 },
  );
});
