import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PortholeError } from '#base/errors.ts';

/** Space of a data folder that a full disk leaves for stops and deletions. */
export interface DiskSpace {
  /** Whether the disk is full, or was and has not been cleared since. */
  isLow(): boolean;
  /** Frees a part of the reserve. False if it is used up: work that failed would fail again. */
  makeRoom(): boolean;
}

export interface DiskReserveOptions {
  readonly folder: string;
  /** Called when a part is freed, when all are made again, and when that fails. */
  readonly changed: (state: 'freed' | 'made', error?: unknown) => void;
  /** Milliseconds between two looks at the disk. @default 5 seconds */
  readonly everyMs?: number | undefined;
}

/** Parts are freed one by one: what the work leaves of a part, others may fill. */
const PARTS = 16;
/** The records of hundreds of deletions. */
const PART_BYTES = 512 * 1_024;
/** The disk has space again where this many times its size is free. */
const AMPLE = 4;

/**
 * Files that are deleted when the disk is full, so that records of stops and deletions can be
 * written, and made again when there is space. On a full disk SQLite could write nothing.
 */
export class DiskReserve implements DiskSpace {
  readonly #options: DiskReserveOptions;
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;
  #making: Promise<void> | undefined;
  #isFreed = false;

  /** Frees a part if the disk is full: nothing could be opened on it. */
  constructor(options: DiskReserveOptions) {
    this.#options = options;
    this.#folder = join(options.folder, 'disk-reserve');
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    if (freeBytes(options.folder) < PART_BYTES) this.makeRoom();
    this.#timer = setInterval(() => void this.keep(), options.everyMs ?? 5_000).unref();
    void this.keep();
  }

  isLow(): boolean {
    return freeBytes(this.#folder) === 0 || (this.#isFreed && !this.#isAmple());
  }

  makeRoom(): boolean {
    const [part] = this.#parts();
    if (part === undefined) return false;
    rmSync(join(this.#folder, part), { force: true });
    this.#isFreed = true;
    this.#options.changed('freed');
    return true;
  }

  /** Makes what is missing if the disk has ample space. Never rejects. */
  keep(): Promise<void> {
    this.#making ??= this.#make()
      .catch((error: unknown) => this.#options.changed('freed', error))
      .finally(() => (this.#making = undefined));
    return this.#making;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#making;
  }

  #isAmple(): boolean {
    return freeBytes(this.#folder) >= AMPLE * PARTS * PART_BYTES;
  }

  #parts(): string[] {
    return readdirSync(this.#folder).filter((name) => /^\d+$/.test(name));
  }

  async #make(): Promise<void> {
    if (!this.#isAmple()) return;
    const made = new Set(this.#parts());
    for (const part of Array.from({ length: PARTS }, (_, at) => String(at))) {
      if (!made.has(part)) await makePart(join(this.#folder, part));
    }
    if (this.#isFreed) this.#options.changed('made');
    this.#isFreed = false;
  }
}

async function makePart(file: string): Promise<void> {
  const unfinished = `${file}.new`;
  try {
    // Zeros would take no space on file systems that compress.
    await writeFile(unfinished, randomBytes(PART_BYTES), { mode: 0o600 });
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** What an ordinary user may still write. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const FULL = new Set<unknown>(['ENOSPC', 'EDQUOT']);

export function isDiskFull(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && FULL.has(error.code);
}

/** @param what it could not do, as `Sandbox abc was not started` */
export function diskFull(what: string, cause?: unknown): PortholeError {
  return new PortholeError('disk_full', `${what}: the disk of the machine is full`, {
    remedy: 'Delete files or sandboxes, and try again.',
    cause,
  });
}
