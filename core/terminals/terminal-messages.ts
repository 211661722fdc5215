import type { TerminalSize } from '#protocol/guest/exec-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import { jsonOrUndefined } from '#base/reads.ts';

/**
 * Far above any screen. Full-screen programs allocate some bytes for each cell, and the kernel
 * accepts 65,535 by 65,535.
 */
export const MAX_COLUMNS = 4_096;

/** The default size. */
const USUAL: TerminalSize = { cols: 80, rows: 24 };

/** One program, by name or path: never a command line or an option. */
const SHELL = /^[A-Za-z0-9._+/][A-Za-z0-9._+/-]{0,254}$/;

/** Longest control message of a client, in characters. */
const MAX_CONTROL = 4_096;

/**
 * A parsed text message: a new size, a pause or resume of output, an end of the program, unknown,
 * or rejected.
 */
export type Control =
  | { readonly kind: 'resize'; readonly size: TerminalSize }
  | { readonly kind: 'pause' | 'resume' | 'interrupt' | 'terminate' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * The size in a client's query; missing or empty values take the default.
 * @throws PortholeError `invalid_request`, with the sandbox bridge's message if it has one
 */
export function readSize(query: { readonly cols?: string | undefined; readonly rows?: string | undefined }): {
  readonly size: TerminalSize;
  /** Whether the query sets any of it. */
  readonly isAsked: boolean;
} {
  const read = (text: string | undefined, usual: number) => (text ? Math.trunc(Number(text)) : usual);
  const size = { cols: read(query.cols, USUAL.cols), rows: read(query.rows, USUAL.rows) };
  if (!Number.isFinite(size.cols) || !Number.isFinite(size.rows)) {
    throw new PortholeError('invalid_request', 'cols and rows must be valid numbers');
  }
  if (!isPossible(size)) {
    throw new PortholeError('invalid_request', `cols and rows must be from 1 to ${MAX_COLUMNS}`);
  }
  return { size, isAsked: Boolean(query.cols) || Boolean(query.rows) };
}

/** @throws PortholeError `invalid_request` */
export function readShell(shell: string | undefined): string {
  if (shell === undefined || shell === '') return 'bash';
  if (SHELL.test(shell)) return shell;
  throw new PortholeError(
    'invalid_request',
    'shell must be the name or the path of one program, such as /bin/bash, without arguments',
  );
}

/** Reads a client's text message in the sandbox bridge's format. */
export function readControl(text: string): Control {
  const message = text.length > MAX_CONTROL ? undefined : jsonOrUndefined(text);
  if (typeof message !== 'object' || message === null) return refused('Invalid control message');
  if (!('type' in message)) return { kind: 'unknown' };
  if (isPlain(message.type)) return { kind: message.type };
  if (message.type !== 'resize') return { kind: 'unknown' };
  const { cols, rows } = message as { readonly cols?: unknown; readonly rows?: unknown };
  if (typeof cols !== 'number' || typeof rows !== 'number' || !(cols >= 1 && rows >= 1)) {
    return refused('Invalid dimensions: cols and rows must be positive');
  }
  const size = { cols: Math.trunc(cols), rows: Math.trunc(rows) };
  if (!isPossible(size)) {
    return refused(`Invalid dimensions: cols and rows must be at most ${MAX_COLUMNS}`);
  }
  return { kind: 'resize', size };
}

/** Messages without fields. */
const PLAIN = ['pause', 'resume', 'interrupt', 'terminate'] as const;

function isPlain(type: unknown): type is (typeof PLAIN)[number] {
  return (PLAIN as readonly unknown[]).includes(type);
}

function isPossible({ cols, rows }: TerminalSize): boolean {
  return cols >= 1 && rows >= 1 && cols <= MAX_COLUMNS && rows <= MAX_COLUMNS;
}

function refused(message: string): Control {
  return { kind: 'refused', message };
}
