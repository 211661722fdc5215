import { describe, expect, test } from '@jest/globals';
import { PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { fieldText, multipartParts } from '#handlers/http/multipart.ts';

const LIMITS = { fields: 4, fieldBytes: 100, files: 4, fileBytes: 1_000, totalBytes: 20_000 };
const TYPE = 'multipart/form-data; boundary=x';

type Seen = [name: string, filename: string | undefined, contentType: string, contents: string];

function request(body: Buffer | string | Readable, headers: Record<string, string> = {}) {
  const stream = body instanceof Readable ? body : Readable.from([Buffer.from(body)], { objectMode: false });
  return { headers: { 'content-type': TYPE, ...headers }, stream: () => stream };
}

async function read(body: Buffer | string | Readable, headers?: Record<string, string>): Promise<Seen[]> {
  const seen: Seen[] = [];
  for await (const { name, filename, contentType, stream } of multipartParts(
    request(body, headers),
    LIMITS,
  )) {
    seen.push([name, filename, contentType, (await buffer(stream)).toString('latin1')]);
  }
  return seen;
}

const part = (disposition: string, contents = 'c', type = '') =>
  `--x\r\nContent-Disposition: ${disposition}\r\n${type}\r\n${contents}\r\n`;
const file = (name: string, contents = 'c') => part(`form-data; name="f"; filename="${name}"`, contents);
const END = '--x--\r\n';

describe('a form', () => {
  test('comes in its order, fields and files, as Node sends it', async () => {
    const form = new FormData();
    form.set('message', 'naïve');
    form.append('f', new File(['first'], 'dir/a "b".txt', { type: 'text/x-a' }));
    form.append('f', new File([''], 'empty'));
    form.set('last', '');
    const sent = new Response(form);
    const seen = await read(Buffer.from(await sent.arrayBuffer()), {
      'content-type': sent.headers.get('content-type') ?? '',
    });
    expect(seen).toEqual([
      ['message', undefined, 'text/plain', Buffer.from('naïve').toString('latin1')],
      ['f', 'dir/a "b".txt', 'text/x-a', 'first'],
      ['f', 'empty', 'application/octet-stream', ''],
      ['last', undefined, 'text/plain', ''],
    ]);
  });

  test('is the same wherever it is cut into pieces', async () => {
    const body = Buffer.from(
      `preamble\r\n${part('form-data; name="a"', 'one')}${file('d/é', '\r\n--\r\n--y\r\n-')}${END}epilogue`,
    );
    const whole: Seen[] = [
      ['a', undefined, 'text/plain', 'one'],
      ['f', 'd/é', 'text/plain', '\r\n--\r\n--y\r\n-'],
    ];
    for (let at = 1; at < body.length; at += 1) {
      expect(
        await read(Readable.from([body.subarray(0, at), body.subarray(at)], { objectMode: false })),
      ).toEqual(whole);
    }
    const bytes = Array.from(body, (byte) => Buffer.of(byte));
    expect(await read(Readable.from(bytes, { objectMode: false }))).toEqual(whole);
  });

  test.each<[string, string, string]>([
    ['quotes and line breaks, escaped as browsers do', 'filename="a%22b%0D%0Ac"', 'a"b\r\nc'],
    ['other escapes, which stay', 'filename="%2e%2e%2Fa%20b"', '%2e%2e%2Fa%20b'],
    ['a backslash, which is one', 'filename="a\\b"', 'a\\b'],
    ['no quotes', 'filename=a.txt', 'a.txt'],
    ['the extended form, which wins', `filename="a.txt"; filename*=UTF-8''na%C3%AFve.txt`, 'naïve.txt'],
    ['a semicolon in it', 'filename="a; name=b"', 'a; name=b'],
    ['nothing in it', 'filename=""', ''],
  ])('has a filename with %s', async (_name, parameters, filename) => {
    expect(await read(part(`form-data; name="f"; ${parameters}`) + END)).toEqual([
      ['f', filename, 'text/plain', 'c'],
    ]);
  });

  test('has no parts at all', async () => {
    expect(await read(END)).toEqual([]);
  });

  test('goes on after a part that is not read', async () => {
    const names: string[] = [];
    const body = file('a', 'x'.repeat(900)) + file('b', 'x'.repeat(900)) + END;
    for await (const { filename } of multipartParts(request(body), LIMITS)) names.push(filename ?? '');
    expect(names).toEqual(['a', 'b']);
  });

  test('has fields of text', async () => {
    for await (const each of multipartParts(request(part('form-data; name="a"', 'é') + END), LIMITS)) {
      expect(await fieldText(each)).toBe('é');
    }
    const bytes = Buffer.concat([Buffer.from(part('form-data; name="a"', '').slice(0, -2)), Buffer.of(0xff)]);
    const body = Buffer.concat([bytes, Buffer.from(`\r\n${END}`)]);
    for await (const each of multipartParts(request(body), LIMITS)) {
      await expect(fieldText(each)).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });

  test('waits for its reader: of 64 MiB that are not read, 1 MiB is taken', async () => {
    let taken = 0;
    function* endless() {
      yield Buffer.from(`--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n`);
      for (; taken < 64 * 1_048_576; taken += 65_536) yield Buffer.alloc(65_536);
    }
    const limits = { ...LIMITS, fileBytes: 1e9, totalBytes: 1e9 };
    const source = Readable.from(endless(), { objectMode: false });
    for await (const { stream } of multipartParts(request(source), limits)) {
      const first = await new Promise<Buffer>((resolve) =>
        stream.once('data', (chunk: Buffer) => resolve(chunk)),
      );
      stream.pause();
      expect(first.length).toBeGreaterThan(0);
      for (let turn = 0; turn < 1_000; turn += 1) await new Promise((done) => setImmediate(done));
      break;
    }
    expect(taken).toBeLessThan(1_048_576);
  });
});

describe('a form that is none', () => {
  test.each<[string, string]>([
    ['without a boundary in it', 'nothing'],
    ['that is empty', ''],
    ['that ends in a part', file('a', 'contents').slice(0, -2)],
    ['that ends behind a part', file('a')],
    ['that ends in a header', '--x\r\nContent-Disp'],
    ['with a part without headers', `--x\r\n\r\nc\r\n${END}`],
    ['with a part that is nothing', `--x\r\n${END}`],
    ['with a first part that is nothing', `--x\r\n${file('a')}${END}`],
    ['with a header that is none', `--x\r\nContent-Disposition\r\n\r\nc\r\n${END}`],
    ['with a part that is no form data', part('attachment; name="f"') + END],
    ['with a part without a name', part('form-data; filename="a"') + END],
    ['with two names', part('form-data; name="a"; name="b"') + END],
    ['with two filenames', part('form-data; name="a"; filename="a"; filename="b"') + END],
    ['with an open quote', part('form-data; name="a') + END],
    ['with something behind a quote', part('form-data; name="a"b"') + END],
    [
      'with an extended name in another character set',
      part(`form-data; name="a"; filename*=latin1''a`) + END,
    ],
    ['with a header of 20,000 bytes', part(`form-data; name="${'n'.repeat(20_000 - 40)}"`).slice(0, 19_000)],
    [
      'with two dispositions',
      `--x\r\nContent-Disposition: form-data; name="a"\r\ncontent-disposition: form-data; name="b"\r\n\r\n\r\n${END}`,
    ],
  ])('%s is refused', async (_name, body) => {
    await expect(read(body)).rejects.toMatchObject({ name: 'PortholeError', code: 'invalid_request' });
  });

  test('is refused with a name that is not UTF-8', async () => {
    await expect(read(Buffer.from(file('a\xff') + END, 'latin1'))).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('is not UTF-8'),
    });
  });

  test('fails the part that is being read when the sender goes away', async () => {
    const source = new PassThrough();
    source.write(file('a', 'begins').slice(0, -2));
    for await (const { stream } of multipartParts(request(source), LIMITS)) {
      const contents = text(stream);
      source.destroy();
      await expect(contents).rejects.toMatchObject({ code: 'invalid_request' });
      break;
    }
  });

  test.each<[string, Record<string, string>, string]>([
    ['JSON', { 'content-type': 'application/json' }, 'unsupported_media_type'],
    ['of no type', { 'content-type': '' }, 'unsupported_media_type'],
    [
      'of another multipart type',
      { 'content-type': 'multipart/mixed; boundary=x' },
      'unsupported_media_type',
    ],
    ['compressed', { 'content-encoding': 'gzip' }, 'unsupported_media_type'],
    ['without a boundary', { 'content-type': 'multipart/form-data' }, 'invalid_request'],
    [
      'with a boundary that is none',
      { 'content-type': 'multipart/form-data; boundary="a\u0000b"' },
      'invalid_request',
    ],
    [
      'with a boundary of 71 characters',
      { 'content-type': `multipart/form-data; boundary=${'b'.repeat(71)}` },
      'invalid_request',
    ],
  ])('%s is refused before anything is read', async (_name, headers, code) => {
    const asked = multipartParts(
      {
        headers: { 'content-type': TYPE, ...headers },
        stream: () => {
          throw new Error('read');
        },
      },
      LIMITS,
    ).next();
    await expect(asked).rejects.toMatchObject({ code });
  });
});

describe('a form that is too large', () => {
  test.each<[string, string, string]>([
    ['a file', file('a', 'x'.repeat(1_001)) + END, 'the file "a" exceeds 1000 bytes'],
    ['a field', part('form-data; name="a"', 'x'.repeat(101)) + END, 'the field "a" exceeds 100 bytes'],
    ['one file more', file('a').repeat(5) + END, 'there are more than 4 files'],
    ['one field more', part('form-data; name="a"').repeat(5) + END, 'there are more than 4 fields'],
    ['the whole body', `${'p'.repeat(20_000)}\r\n${file('a')}${END}`, 'the body exceeds 20000 bytes'],
  ])('in %s is refused', async (_name, body, why) => {
    await expect(read(body)).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining(why),
    });
  });

  test('is refused by its announced length', async () => {
    await expect(read(END, { 'content-length': '20001' })).rejects.toMatchObject({
      code: 'payload_too_large',
    });
  });

  test('is accepted at exactly the limits', async () => {
    const body =
      file('a', 'x'.repeat(1_000)).repeat(4) + part('form-data; name="a"', 'x'.repeat(100)).repeat(4) + END;
    expect(await read(body)).toHaveLength(8);
  });
});
