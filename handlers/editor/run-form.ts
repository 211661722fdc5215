import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { PortholeError } from '#base/errors.ts';
import type { InputFile } from '#core/editor/perform-run.ts';
import type { RunRequest } from '#core/editor/tool-run-sandbox.ts';
import { measureSnapshot, snapshotTooLarge } from '#core/editor/tool-snapshots.ts';
import { describeProblems } from '../http/describe-problems.ts';
import { MAX_JSON_BYTES } from '../http/read-input.ts';
import { fieldText, type MultipartPart, multipartParts } from '../http/multipart.ts';
import { PartialToolFields, toSource } from './tool-routes.ts';

/** Maximum total size and number of the files of one run: 32 MiB, as for every upload. */
const FILES = { bytes: 33_554_432, most: 32 } as const;
/** Allowance for headers and boundaries. */
const AROUND_BYTES = 1_048_576;
/** Linux's limit, in bytes. */
const MAX_NAME = 255;

interface Upload {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly stream: () => Readable;
}

/**
 * Reads the whole form of a run, with its parts in any order, and passes it to `use`; so nothing
 * has started if a part is invalid. Files are stored on disk until `use` ends.
 * @throws PortholeError `invalid_snapshot`, `snapshot_too_large`, `invalid_inputs`, and errors of
 * `multipartParts`
 */
export async function withRunForm<T>(
  upload: Upload,
  maxSnapshotBytes: number,
  use: (request: RunRequest) => Promise<T>,
): Promise<T> {
  await using folder = temporaryFolder();
  const request = { fields: {}, payloadBytes: 0, inputs: {} as unknown, files: [] as InputFile[] };
  // Maximum size of the canonical form with escapes; more white space is rejected.
  const snapshotBytes = 6 * maxSnapshotBytes + 65_536;
  const fieldBytes = Math.max(snapshotBytes, MAX_JSON_BYTES);
  const limits = {
    fields: 2,
    fieldBytes,
    files: FILES.most + 2,
    fileBytes: Math.max(fieldBytes, FILES.bytes),
    totalBytes: snapshotBytes + MAX_JSON_BYTES + FILES.bytes + AROUND_BYTES,
  };
  const seen = new Set<string>();
  let fileBytes = 0;
  for await (const part of multipartParts(upload, limits)) {
    if (part.name === 'files') {
      const file = await keepFile(part, await folder.path(), request.files, FILES.bytes - fileBytes);
      fileBytes += file.size;
      request.files.push(file);
      continue;
    }
    if (seen.has(part.name)) throw badForm(`it has two parts ${JSON.stringify(part.name)}`);
    seen.add(part.name);
    if (part.name === 'snapshot') Object.assign(request, await readSnapshot(part, maxSnapshotBytes));
    else if (part.name === 'inputs') request.inputs = await readInputs(part);
    else throw badForm(`it has a part ${JSON.stringify(part.name.slice(0, 100))}`);
  }
  // Awaited: the files must exist until it ends.
  return await use(request);
}

async function readSnapshot(part: MultipartPart, most: number): Promise<Partial<RunRequest>> {
  const text = await fieldText(part).catch((error: unknown) => {
    if (error instanceof PortholeError && error.code === 'payload_too_large') {
      throw snapshotTooLarge(most, 'is longer than six times the limit before it is made canonical');
    }
    throw error;
  });
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch {
    throw new PortholeError('invalid_snapshot', 'The part "snapshot" is not JSON', {
      remedy: 'send an object of fields.',
    });
  }
  const payloadBytes = measureSnapshot(payload, most);
  const { success, data, error } = PartialToolFields.safeParse(payload);
  if (!success)
    throw new PortholeError('invalid_snapshot', describeProblems(error, payload, 'body', PartialToolFields));
  return { fields: toSource(data), payloadBytes };
}

async function readInputs(part: MultipartPart): Promise<unknown> {
  const text = await fieldText(part);
  if (Buffer.byteLength(text) > MAX_JSON_BYTES) {
    throw new PortholeError('invalid_inputs', `The part "inputs" is longer than ${MAX_JSON_BYTES} bytes`, {
      remedy: 'send large values as files.',
    });
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new PortholeError('invalid_inputs', 'The part "inputs" is not JSON.');
  }
}

async function keepFile(
  { filename, stream }: MultipartPart,
  folder: string,
  before: readonly InputFile[],
  most: number,
): Promise<InputFile> {
  const name = filename ?? '';
  const shown = JSON.stringify(name.slice(0, 100));
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
    throw badForm(`a file has the name ${shown}, and needs one without a path`);
  }
  if (Buffer.byteLength(name) > MAX_NAME) throw badForm(`a file's name, ${shown}, is longer than 255 bytes`);
  if (before.some((each) => each.name === name)) throw badForm(`it has two files ${shown}`);
  if (before.length === FILES.most) throw badForm(`it has more than ${FILES.most} files`);
  const path = join(folder, String(before.length));
  let size = 0;
  await pipeline(
    stream,
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > most) {
          throw new PortholeError(
            'payload_too_large',
            `The files of a run exceed ${FILES.bytes} bytes together`,
            { remedy: 'send less at a time.' },
          );
        }
        yield chunk;
      }
    },
    createWriteStream(path, { flags: 'wx', mode: 0o600 }),
  );
  // The reader handles the error. An error before that must not crash the process.
  const open = () => createReadStream(path).on('error', () => undefined);
  return { name, size, open };
}

/** Created on first use, and removed with its contents. */
function temporaryFolder() {
  let made: Promise<string> | undefined;
  return {
    path: () => (made ??= mkdtemp(join(tmpdir(), 'porthole-run-'))),
    async [Symbol.asyncDispose]() {
      if (made !== undefined) await rm(await made, { recursive: true, force: true });
    },
  };
}

function badForm(what: string): PortholeError {
  return new PortholeError(
    'invalid_request',
    `The form cannot be used: ${what}. It may have "snapshot", "inputs" and "files".`,
  );
}
