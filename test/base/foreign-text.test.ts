import { expect, test } from '@jest/globals';
import { Readable } from 'node:stream';
import { boundedJson } from '#base/bounded-json.ts';
import { serverSentEvents } from '#base/server-sent-events.ts';
import { splitText } from '#base/split-text.ts';

const LIMITS = { depth: 4, values: 10 };

test.each([
  ['{"a":[1,{"b":"x,[{\\",:"}]}', true],
  [`"${'[,'.repeat(100)}"`, true],
  ['[[[[1]]]]', true],
  ['[[[[[1]]]]]', false],
  [`[${'1,'.repeat(10)}1]`, false],
  ['{"a":1', false],
])('parses JSON below its limits only: %s', (text, isParsed) => {
  if (isParsed) expect(boundedJson(text, LIMITS)).toEqual(JSON.parse(text));
  else expect(() => boundedJson(text, LIMITS)).toThrow(Error);
});

async function parts(pieces: readonly string[], separator: string): Promise<string[]> {
  const found: string[] = [];
  const source = Readable.from(pieces.map((piece) => Buffer.from(piece)));
  for await (const part of splitText(source, separator, 1_000)) found.push(part);
  return found;
}

test('splits a text the same way whatever pieces it comes in', async () => {
  const text = 'data: ä\n\n\ndata: b\nid: 1\n\n\n\nend';
  for (const separator of ['\n', '\n\n']) {
    const whole = await parts([text], separator);
    expect(whole).toEqual(text.split(separator).slice(0, -1));
    expect(await parts(Array.from(text), separator)).toEqual(whole);
  }
});

test('refuses a part that is too long, in one piece or in many', async () => {
  await expect(parts([`${'x'.repeat(1_001)}\n`], '\n')).rejects.toThrow('over 1000');
  await expect(parts(Array<string>(1_001).fill('x'), '\n')).rejects.toThrow('over 1000');
});

test('reads a million pieces of an event in linear time', async () => {
  function* pieces(): Generator<Buffer> {
    const piece = Buffer.from('x');
    yield Buffer.from('data: ');
    for (let at = 0; at < 1_000_000; at += 1) yield piece;
    yield Buffer.from('\n\n');
  }
  const events = serverSentEvents(Readable.from(pieces()));
  const { value } = await events.next();
  expect(value?.data).toHaveLength(1_000_000);
}, 30_000);
