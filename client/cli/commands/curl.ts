import { arrayBuffer } from 'node:stream/consumers';
import { readAtMost, readStream } from '../../streams/byte-streams.ts';
import { decodeText } from '../../streams/decode-text.ts';
import { type CommandSpec, UsageError } from '../command.ts';
import { readPort } from '../read-values.ts';
import { runOf } from '../run-of.ts';
import { write } from '../print.ts';

/** Responses that are printed whole, in bytes. */
const MAX_JSON_BYTES = 16_777_216;

export const curlCommand: CommandSpec = {
  name: 'curl',
  usage: '<sandbox|run> <port> [path]',
  summary: 'request a path of a preview, and print the response',
  details:
    'Opens the preview if needed. Works where *.localhost does not resolve. Exit code 1 if the status is 400 or more.',
  options: {
    request: { type: 'string', short: 'X', value: 'METHOD', help: 'default GET, or POST with --data' },
    header: { type: 'string', short: 'H', multiple: true, value: 'NAME: VALUE', help: 'to send' },
    data: { type: 'string', short: 'd', value: 'TEXT', help: 'to send; @- reads it from stdin' },
    include: { type: 'boolean', short: 'i', help: 'print the status and headers, too' },
  },
  json: 'print {"status", "headers", "body"}',
  examples: [
    ['porthole curl try 3000 /api/health', 'its response'],
    [`porthole curl try 3000 /orders -H 'content-type: application/json' -d '{"id": 1}'`, 'a POST'],
  ],
  async run(context) {
    const { given, streams, signal, print } = context;
    const [word = '', port = '', path = '/'] = given.positionals;
    const target = readPort(port);
    const headers = new Headers();
    for (const line of given.texts('header')) {
      const [, name = '', value = ''] = /^([\w-]+):(.*)$/.exec(line) ?? [];
      if (name === '')
        throw new UsageError(`--header must be NAME: VALUE, got ${JSON.stringify(line.slice(0, 40))}.`);
      headers.append(name, value);
    }
    if (!path.startsWith('/'))
      throw new UsageError(`the path must begin with /, got ${JSON.stringify(path)}.`);
    const data = given.text('data');
    const body = data === '@-' ? new Uint8Array(await arrayBuffer(streams.stdin)) : data;
    const run = await runOf(context, word, 'make');
    const preview = await run.preview(target, { keepAliveMs: 0, signal });
    const method = given.text('request') ?? (body === undefined ? 'GET' : 'POST');
    const response = await preview.fetch(path, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body }),
    });
    const { status, statusText } = response;
    if (given.is('json')) {
      const bytes = await readAtMost(response.body, MAX_JSON_BYTES);
      const text = decodeText(bytes, bytes.length === MAX_JSON_BYTES);
      await print(JSON.stringify({ status, headers: Object.fromEntries(response.headers), body: text }));
    } else {
      if (given.is('include')) {
        await print(`HTTP ${status} ${statusText}`.trimEnd());
        for (const [name, value] of response.headers) await print(`${name}: ${value}`);
        await print('');
      }
      for await (const chunk of readStream(response.body)) await write(streams.stdout, chunk);
    }
    return status < 400 ? 0 : 1;
  },
};
