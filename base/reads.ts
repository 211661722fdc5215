import type { Readable } from 'node:stream';
import { PortholeError } from './errors.ts';
import { retry } from './retry.ts';

export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it as `after` to get what follows; null on the last page. */
  readonly next: string | null;
}

export interface PageRequest {
  /** 1..1000 */
  readonly limit: number;
  readonly after?: string | undefined;
}

/** Filters that every list has in common. */
export interface ListFilter {
  /** Matches names and ids that contain it, ignoring the case of A to Z. */
  readonly text?: string | undefined;
  /** User name of the owner. */
  readonly ownerUser?: string | undefined;
  /** Name of the image; `DEFAULT_IMAGE`: none was requested. */
  readonly image?: string | undefined;
  /** All of them. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Created at or after. */
  readonly createdAfter?: Date | undefined;
  /** Created before. */
  readonly createdBefore?: Date | undefined;
}

/** The image filter for sandboxes that requested no image. */
export const DEFAULT_IMAGE = 'default';

/** Lists are counted up to here: an exact count of more would read every row. */
export const MAX_TOTAL = 10_000;

const PAGE = 500;

/**
 * The items of a paged list, in order; a page is requested once the items before it are consumed.
 */
export async function* everyItem<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined;
  do {
    const page = await list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page.items;
    after = page.next ?? undefined;
  } while (after !== undefined);
}

/** Most attempts, and the wait between them, in milliseconds, times the attempt's number. */
const TRIES = 3;
const WAIT_MS = 100;

/**
 * Retries start only within this time, in milliseconds, so that a caller never waits for several
 * connection timeouts.
 */
const WITHIN_MS = 10_000;

/** Whether the connection to the sandbox broke: the same read may succeed the next time. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof PortholeError && error.code === 'exec_transport_error';
}

/**
 * Retries a read of a sandbox when its connection breaks. Only for work without side effects.
 */
export function readAgain<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const delay = (error: unknown, tries: number) =>
    tries < TRIES && isConnectionLost(error) ? WAIT_MS * tries : undefined;
  return retry(read, { delay, withinMs: WITHIN_MS, signal });
}

/**
 * The whole stream, or undefined if it exceeds the limit in bytes: then the rest is not read.
 */
export async function readAtMost(stream: Readable, bytes: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Undefined for a text that is no JSON. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
