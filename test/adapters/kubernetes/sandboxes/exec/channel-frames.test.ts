import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  readMessage,
  resizeMessage,
  stdinEnd,
  stdinMessage,
} from '#adapters/kubernetes/sandboxes/exec/channel-frames.ts';

const bytes = fc.uint8Array({ maxLength: 300 });

describe('messages of an exec', () => {
  test('carry every payload of an output channel unchanged', () => {
    const channels = fc.constantFrom([1, 'stdout'], [2, 'stderr'], [3, 'status'] as const);
    fc.assert(
      fc.property(channels, bytes, ([number, channel], payload) => {
        const read = readMessage(Buffer.concat([Buffer.from([number]), payload]));
        expect(read).toEqual({ channel, payload: Buffer.from(payload) });
      }),
    );
  });

  test('are read, or refused with an Error, whatever they hold', () => {
    fc.assert(
      fc.property(bytes, (message) => {
        try {
          const read = readMessage(Buffer.from(message));
          expect(read === undefined).toBe(message.length === 0);
        } catch (error) {
          expect((error as Error).message).toMatch(/^a (message on channel|close message of) \d+/);
        }
      }),
    );
  });

  test.each([
    ['input, which is ours', [0, 65]],
    ['a size, which is ours', [4, 65]],
    ['a channel that is none', [5]],
    ['a close without a channel', [255]],
    ['a close of two channels', [255, 1, 2]],
  ])('are refused where they are %s', (_title, message) => {
    expect(() => readMessage(Buffer.from(message))).toThrow(/^a (message|close)/);
  });

  test('of input begin with channel 0, and its end is told on channel 255', () => {
    expect(stdinMessage(Buffer.from('hi'))).toEqual(Buffer.from([0, 104, 105]));
    expect(stdinEnd()).toEqual(Buffer.from([255, 0]));
  });

  test.each([
    [80, 24, '{"Width":80,"Height":24}'],
    [0, -3, '{"Width":1,"Height":1}'],
    [1e9, 40.9, '{"Width":65535,"Height":40}'],
    [Number.NaN, Number.POSITIVE_INFINITY, '{"Width":1,"Height":65535}'],
  ])('of a size of %d by %d say what a terminal can have', (cols, rows, text) => {
    expect(resizeMessage(cols, rows).toString()).toBe(`\u0004${text}`);
  });
});
