/**
 * A guest's responses are untrusted: any code may answer in its place. All readers of answers use
 * this file. Bytes, values and time of an answer are limited before it is parsed, the first
 * malformed item ends it, and the work takes the owner's turns of the event loop.
 */
import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod/v4/core';
import { MAX_JSON } from '#protocol/guest/http-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import type { GuestAnswer } from '../sandboxes/sandbox-provider.ts';
import { turnOwnerOf } from '../sandboxes/turn-owners.ts';
import { boundedJson, type JsonLimits, JsonScan } from '#base/bounded-json.ts';
import { loopTurns } from '#base/loop-turns.ts';
import { type ServerSentEvent, serverSentEvents } from '#base/server-sent-events.ts';
import { splitText } from '#base/split-text.ts';
import { type AnswerSchema, parseInTurns, type Pause } from './parse-in-turns.ts';

export type { AnswerSchema } from './parse-in-turns.ts';

/** How long a guest may take to answer, in ms. A busy machine may need a second to start one. */
export const ANSWER_WITHIN = 10_000;

/** The longest list has 2,000 processes of some 30 values. */
const ANSWER: JsonLimits = { depth: 32, values: 100_000 };

/** A line of a list: one file or match. */
const LINE: JsonLimits = { depth: 512, values: 512 };
/** A path of 16,384 characters, each of six in JSON. */
const MAX_LINE = 128 * 1024;

/** Bytes of an answer without contents: `{"ok":true}`. */
const MAX_EMPTY = 4_096;

const BREAKS = 'its guest violates the protocol';

/** The error for a connection to the guest that violates the protocol. */
export function guestFailure(sandboxId: string, what: string, cause?: unknown): PortholeError {
  return new PortholeError('exec_transport_error', `Sandbox ${sandboxId}: ${what}.`, {
    remedy: 'Try again. If it persists, stop and resume the sandbox.',
    cause,
  });
}

/** The turns that work for a sandbox takes. */
export function turnsOf(sandboxId: string): Pause {
  return () => loopTurns.next(turnOwnerOf(sandboxId));
}

interface AnswerLimits {
  /** Bytes. @default MAX_JSON */
  readonly limit?: number | undefined;
  /** Milliseconds. @default ANSWER_WITHIN */
  readonly within?: number | undefined;
}

/**
 * The pieces of a body, at most `limit` bytes. @throws PortholeError `exec_transport_error` if it
 * is truncated, too long or too slow
 */
export async function* piecesOfAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  { limit = MAX_JSON, within = ANSWER_WITHIN }: AnswerLimits = {},
): AsyncGenerator<Buffer, void, undefined> {
  const timer = setTimeout(() => answer.destroy(new Error('too slow')), within);
  const pause = turnsOf(sandboxId);
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > limit) throw new Error(`an answer of over ${limit} bytes`);
      yield piece;
      const turn = pause();
      if (turn !== undefined) await turn;
    }
  } catch (error) {
    throw guestFailure(sandboxId, 'the answer of its guest was cut', error);
  } finally {
    clearTimeout(timer);
    answer.destroy();
  }
}

/** The whole body as text. @throws as `piecesOfAnswer` does */
export async function textAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  limits?: AnswerLimits,
): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of piecesOfAnswer(answer, sandboxId, limits)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/**
 * A body without text is `undefined` to the schema.
 * @throws PortholeError `exec_transport_error` for a body that does not fit the schema, and as
 * `piecesOfAnswer` does
 */
export async function jsonAnswer<T>(
  answer: GuestAnswer,
  sandboxId: string,
  schema: AnswerSchema<T>,
  within?: number,
): Promise<T> {
  const pause = turnsOf(sandboxId);
  const decoder = new StringDecoder('utf8');
  const scan = new JsonScan(ANSWER);
  const pieces: string[] = [];
  for await (const piece of piecesOfAnswer(answer, sandboxId, { within })) {
    const text = decoder.write(piece);
    broken(sandboxId, () => scan.add(text));
    pieces.push(text);
  }
  const turn = pause();
  if (turn !== undefined) await turn;
  const text = pieces.join('') + decoder.end();
  const value: unknown = text === '' ? undefined : broken(sandboxId, () => JSON.parse(text));
  return parseInTurns(schema, value, pause).catch((error: unknown) => {
    throw guestFailure(sandboxId, BREAKS, error);
  });
}

function broken<T>(sandboxId: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw guestFailure(sandboxId, BREAKS, error);
  }
}

interface LinesAnswer<Item, End> extends AnswerLimits, LineSchemas<Item, End> {
  /** Items. */
  readonly most: number;
  /** Characters of all lines. @default no limit but `limit`, which is an error */
  readonly mostChars?: number;
}

/**
 * A list with one item of JSON in each line. The last line is the end; undefined if it is missing,
 * or comes after more than `most` items or `mostChars`, or after a line that does not fit.
 * @throws as `piecesOfAnswer` does
 */
export async function linesAnswer<Item, End>(
  answer: GuestAnswer,
  sandboxId: string,
  { most, mostChars = Infinity, item, end, ...limits }: LinesAnswer<Item, End>,
): Promise<{ readonly items: readonly Item[]; readonly end: End | undefined }> {
  const pause = turnsOf(sandboxId);
  const items: Item[] = [];
  let chars = 0;
  try {
    const pieces = piecesOfAnswer(answer, sandboxId, limits);
    for await (const line of splitText(pieces, '\n', MAX_LINE)) {
      const turn = pause();
      if (turn !== undefined) await turn;
      const read = readLine(line, { item, end });
      if (read !== undefined && 'end' in read) return { items, end: read.end };
      chars += line.length;
      if (read === undefined || items.length >= most || chars > mostChars) return { items, end: undefined };
      items.push(read.item);
    }
    return { items, end: undefined };
  } catch (error) {
    throw error instanceof PortholeError ? error : guestFailure(sandboxId, BREAKS, error);
  } finally {
    answer.destroy();
  }
}

export interface LineSchemas<Item, End> {
  readonly item: z.$ZodType<Item>;
  readonly end: z.$ZodType<End>;
}

/** Undefined for a line that fits neither. */
export function readLine<Item, End>(
  line: string,
  { item, end }: LineSchemas<Item, End>,
): { readonly item: Item } | { readonly end: End } | undefined {
  try {
    const value = boundedJson(line, LINE);
    const read = z.safeParse(item, value);
    return read.success ? { item: read.data } : { end: z.parse(end, value) };
  } catch {
    return undefined;
  }
}

/**
 * Server-sent events, until the guest or the signal ends them; undefined: a heartbeat. @throws
 * PortholeError `exec_transport_error`
 */
export async function* eventsAnswer(
  answer: GuestAnswer,
  sandboxId: string,
  signal?: AbortSignal,
): AsyncGenerator<ServerSentEvent | undefined> {
  const pause = turnsOf(sandboxId);
  try {
    for await (const event of serverSentEvents(answer)) {
      const turn = pause();
      if (turn !== undefined) await turn;
      yield event;
    }
    if (!answer.complete) throw new Error('the stream was cut');
  } catch (error) {
    signal?.throwIfAborted();
    throw guestFailure(sandboxId, 'the connection to its guest was lost', error);
  } finally {
    answer.destroy();
  }
}

/** @throws PortholeError `exec_transport_error` for data that does not fit the schema */
export async function eventData<T>(
  { data }: ServerSentEvent,
  sandboxId: string,
  schema: AnswerSchema<T>,
): Promise<T> {
  const value = broken(sandboxId, () => boundedJson(data, ANSWER));
  return parseInTurns(schema, value, turnsOf(sandboxId)).catch((error: unknown) => {
    throw guestFailure(sandboxId, BREAKS, error);
  });
}

/** Reads an answer without contents to its end, so that the guest can close the connection. */
export async function emptyAnswer(answer: GuestAnswer, sandboxId: string, within?: number): Promise<void> {
  for await (const _piece of piecesOfAnswer(answer, sandboxId, { limit: MAX_EMPTY, within }));
}
