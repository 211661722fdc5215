import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { type CommandSpec, UsageError } from '../command.ts';
import { holdSandbox } from '../hold-sandbox.ts';

/** `sandbox:path`; undefined for a path of this machine. */
function inSandbox(text: string): readonly [sandbox: string, path: string] | undefined {
  const at = text.indexOf(':');
  return at < 1 || text.slice(0, at).includes('/') ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

export const copyCommand: CommandSpec = {
  name: 'cp',
  usage: '<from> <to>',
  summary: 'copy a file to or from a sandbox; one of the two is <sandbox>:<path>',
  details: 'As the other, - is the standard input or output. For a folder use porthole sync.',
  examples: [
    ['porthole cp notes.txt try:docs/notes.txt', 'to /workspace/docs/notes.txt'],
    ['porthole cp try:report.pdf .', 'from /workspace/report.pdf'],
    ['porthole cp try:data.csv - | head', 'to the standard output'],
  ],
  async run(context) {
    const { given, signal, show, streams } = context;
    const [from = '', to = ''] = given.positionals;
    const [source, target] = [inSandbox(from), inSandbox(to)];
    if ((source === undefined) === (target === undefined))
      throw new UsageError('one of the two must be <sandbox>:<path>, and the other a path here.');
    if (to === '-' && given.is('json'))
      throw new UsageError('--json does not go with -: the output is the file.');
    let path: string;
    if (target !== undefined) {
      const [word, wanted] = target;
      const isNamed = wanted !== '' && !wanted.endsWith('/');
      if (from === '-') {
        if (!isNamed) throw new UsageError(`name the file for the standard input, e.g. ${to}notes.txt.`);
      } else if ((await stat(from).catch(() => undefined))?.isFile() !== true) {
        throw new UsageError(`${from} is not a file: use porthole sync for a folder.`);
      }
      path = isNamed ? wanted : `${wanted}${basename(from)}`;
      const sandbox = await holdSandbox(context, word);
      const content = from === '-' ? streams.stdin : createReadStream(from);
      await sandbox.files.write(path, Readable.toWeb(content) as ReadableStream<Uint8Array>, { signal });
    } else {
      const [word, wanted] = source as readonly [string, string];
      const folder = await stat(to).catch(() => undefined);
      path = folder?.isDirectory() === true ? join(to, basename(wanted)) : to;
      const sandbox = await holdSandbox(context, word);
      const content = Readable.fromWeb((await sandbox.files.stream(wanted, { signal })) as NodeStream);
      if (to === '-') await pipeline(content, streams.stdout, { end: false });
      else await pipeline(content, createWriteStream(path));
    }
    return show({ from, to: path });
  },
};

export const moveCommand: CommandSpec = {
  name: 'mv',
  usage: '<sandbox>:<path> <path>',
  summary: 'move or rename a file or a folder in a sandbox',
  options: {
    force: { type: 'boolean', help: 'replace a file that is there' },
  },
  examples: [['porthole mv try:notes.txt docs/notes.txt', 'to /workspace/docs/notes.txt']],
  async run(context) {
    const { given, signal, show } = context;
    const [from = '', to = ''] = given.positionals;
    const source = inSandbox(from);
    const target = inSandbox(to);
    if (source === undefined || (target !== undefined && target[0] !== source[0]))
      throw new UsageError(
        `the first must be <sandbox>:<path>, and the second a path there, got ${JSON.stringify(from)} and ${JSON.stringify(to)}.`,
      );
    const [word, path] = source;
    const place = target?.[1] ?? to;
    const sandbox = await holdSandbox(context, word);
    await sandbox.files.move(path, place, { overwrite: given.is('force') || undefined, signal });
    return show({ from: path, to: place });
  },
};
