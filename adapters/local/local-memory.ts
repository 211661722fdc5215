/** Saves the memory of sandboxes in gVisor, and starts sandboxes with it. */
import {
  chownSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { once } from 'node:events';
import * as z from 'zod/mini';
import { GuestClient } from '#adapters/guest/guest-client.ts';
import { PortholeError } from '#base/errors.ts';
import { readFrames } from '#base/frames.ts';
import type { GuestAnswer, SandboxMemory } from '#core/sandboxes/sandbox-provider.ts';
import { PROTOCOL_VERSION } from '#protocol/guest/http-protocol.ts';
import { MAX_STATE_FRAME, SNAPSHOT } from '#protocol/guest/snapshot-protocol.ts';
import { ownerOf } from './drop-root.ts';
import { connectToGuestIn, takeGuestSocket } from './guest-socket.ts';
import { memoryInUse, MemoryNotSaved, saveGvisorMemory } from './gvisor-memory.ts';
import { imageBytes, MEMORY, readImage, STATE, writeImage } from './memory-image.ts';
import type { SandboxFolder, StartRecord } from './sandbox-folder.ts';
import type { SavedMemory } from './start-sandbox.ts';

/** How long the guest of a saved sandbox may take to listen again, in ms. */
const LISTENS_WITHIN_MS = 10_000;

const FRAMES = {
  contents: SNAPSHOT.state,
  maxContents: MAX_STATE_FRAME,
  maxWhole: 0,
  malformed: () => new Error('the guest sent a malformed frame'),
} as const;

const MIB = 1_048_576;

/** What a new sandbox gets. */
export interface Saved {
  readonly fill: Parameters<SandboxMemory['create']>[1];
  readonly image: Readable;
}

/** The guest of a sandbox does not listen after its memory was saved. */
export class GuestLost extends PortholeError {}

export class LocalMemory {
  readonly #dataDir: string;
  readonly #saving = new Map<string, Promise<unknown>>();
  #isSwept = false;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Resolves once the sandbox is not being saved: its guest listens nowhere meanwhile. */
  async reachable(id: string): Promise<void> {
    await this.#saving.get(id);
  }

  /** @throws PortholeError `memory_not_supported`, GuestLost */
  async save(id: string, folder: SandboxFolder, started: StartRecord, maxBytes: number): Promise<Readable> {
    const command = commandOf(started);
    const check = (bytes: number) => {
      if (bytes <= maxBytes) return;
      const [has, most] = [bytes, maxBytes].map((size) => Math.ceil(size / MIB));
      throw new MemoryNotSaved(`the programs of the sandbox have ${has} MiB, and ${most} MiB may be stored`);
    };
    check(memoryInUse(started.process));
    const place = await this.#makePlace(ownerOf(id));
    try {
      await this.#whileUnreachable(id, save(id, folder, started, place));
      check(await imageBytes(place));
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      throw error;
    }
    const image = Readable.from(readImage(place, command), { objectMode: false, highWaterMark: MIB });
    image.once('close', () => void rm(place, { recursive: true, force: true }));
    return image;
  }

  /**
   * Gives a new sandbox its files and its memory, through a guest that runs nothing else.
   * @param prepare starts that guest
   * @param start ends it, and starts the sandbox, with the memory if given
   * @returns undefined, or why it runs only from its files
   * @throws the error of `fill` or of the image
   */
  async load(
    id: string,
    folder: SandboxFolder,
    { fill, image }: Saved,
    prepare: () => Promise<unknown>,
    start: (memory?: SavedMemory) => Promise<void>,
  ): Promise<string | undefined> {
    const owner = ownerOf(id);
    const place = await this.#makePlace(owner);
    const guest = guestOf(id, folder);
    try {
      const filled = prepare().then(() =>
        fill({ callGuest: (_id, call, signal) => guest.call(call, signal) }),
      );
      const written = writeImage(place, image as AsyncIterable<Buffer>);
      // Both must end before anything is removed.
      await Promise.allSettled([filled, written]);
      const [command] = await Promise.all([written, filled]);
      if (owner !== undefined) giveTo(owner, join(place, MEMORY));
      const body = createReadStream(join(place, STATE));
      await done(guest.call({ method: 'PUT', path: '/v1/state', body }));
      try {
        await start({ image: join(place, MEMORY), command });
        await done(guest.call({ method: 'PUT', path: '/v1/identity', body: { sandbox_id: id } }));
        return undefined;
      } catch (error) {
        await start();
        return new MemoryNotSaved('the sandbox did not start with it, and runs from its files', error)
          .message;
      }
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  }

  /**
   * Saves the memory of a running sandbox in its folder, and ends its processes.
   * @throws PortholeError `memory_not_supported`: they may go on, and the folder has no memory
   */
  async suspend(id: string, folder: SandboxFolder, started: StartRecord): Promise<void> {
    const command = commandOf(started);
    await this.forget(folder);
    const image = join(folder.memory, MEMORY);
    mkdirSync(image, { recursive: true, mode: 0o700 });
    const owner = ownerOf(id);
    if (owner !== undefined) giveTo(owner, image);
    try {
      await this.#whileUnreachable(id, saveAndEnd(id, folder, started, image));
      // Last: without it, the memory is not complete.
      const text = JSON.stringify({ command: [...command], guest: started.guest } satisfies z.infer<
        typeof kept
      >);
      writeFileSync(join(folder.memory, KEPT), text);
    } catch (error) {
      await this.forget(folder);
      throw error;
    }
  }

  /** What `suspend` has saved; undefined: nothing that can be continued. */
  kept(folder: SandboxFolder): SavedMemory | undefined {
    try {
      const { command, guest } = kept.parse(JSON.parse(readFileSync(join(folder.memory, KEPT), 'utf8')));
      return guest === PROTOCOL_VERSION ? { image: join(folder.memory, MEMORY), command } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Removes what `suspend` has saved. */
  forget(folder: SandboxFolder): Promise<void> {
    return rm(folder.memory, { recursive: true, force: true });
  }

  async #whileUnreachable(id: string, saving: Promise<void>): Promise<void> {
    this.#saving.set(
      id,
      saving.catch(() => undefined),
    );
    await saving.finally(() => this.#saving.delete(id));
  }

  async #makePlace(owner: number | undefined): Promise<string> {
    await this.#sweep();
    const place = mkdtempSync(join(this.#dataDir, `${PREFIX}${process.pid}-`));
    mkdirSync(join(place, MEMORY), { mode: 0o700 });
    if (owner !== undefined) giveTo(owner, join(place, MEMORY));
    return place;
  }

  /** Removes what hosts that were killed have left. */
  async #sweep(): Promise<void> {
    if (this.#isSwept) return;
    this.#isSwept = true;
    for (const name of readdirSync(this.#dataDir)) {
      const pid = PLACE.exec(name)?.[1];
      if (pid === undefined || isRunning(Number(pid))) continue;
      await rm(join(this.#dataDir, name), { recursive: true, force: true });
    }
  }
}

const KEPT = 'kept.json';
const kept = z.object({ command: z.array(z.string()), guest: z.optional(z.int()) });

function commandOf({ command }: StartRecord): readonly string[] {
  if (command !== undefined) return command;
  throw new MemoryNotSaved('an earlier version of Porthole started this sandbox');
}

const PREFIX = 'memory-';
const PLACE = /^memory-(\d+)-/;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Of a folder, without subfolders, that only this process has written to. */
function giveTo(owner: number, folder: string): void {
  chownSync(folder, owner, owner);
  for (const name of readdirSync(folder)) chownSync(join(folder, name), owner, owner);
}

function guestOf(sandboxId: string, { path }: SandboxFolder): GuestClient {
  return new GuestClient({ sandboxId, connect: async () => ({ stream: await connectToGuestIn(path) }) });
}

async function done(answer: Promise<GuestAnswer>): Promise<void> {
  (await answer).resume();
}

async function save(
  id: string,
  folder: SandboxFolder,
  { process: outermost }: StartRecord,
  place: string,
): Promise<void> {
  const over = new AbortController();
  // Before the guest closes its socket: its new one must not be missed.
  const listens = takeGuestSocket(folder, over.signal);
  listens.catch(() => undefined);
  let released: GuestAnswer;
  try {
    released = await releaseSockets(guestOf(id, folder));
  } catch (error) {
    over.abort();
    throw error;
  }
  try {
    await receiveState(released, join(place, STATE));
    await saveGvisorMemory(outermost, join(place, MEMORY), ownerOf(id), true);
  } finally {
    // The guest listens again, also where nothing was saved.
    released.destroy();
    const late = setTimeout(() => over.abort(), LISTENS_WITHIN_MS);
    await listens.catch(() => undefined);
    clearTimeout(late);
  }
  await listens.catch((cause: unknown) => {
    throw new GuestLost('exec_transport_error', `Sandbox ${id} was lost while its memory was saved.`, {
      remedy: 'Use it again: it starts from its files.',
      cause,
    });
  });
}

async function saveAndEnd(
  id: string,
  folder: SandboxFolder,
  { process: outermost }: StartRecord,
  image: string,
): Promise<void> {
  const released = await releaseSockets(guestOf(id, folder));
  try {
    // The files themselves stay where they are.
    await receiveState(released, join(folder.memory, STATE));
    await saveGvisorMemory(outermost, image, ownerOf(id), false);
  } finally {
    released.destroy();
  }
}

/** The guest listens nowhere while the answer is open. */
async function releaseSockets(guest: GuestClient): Promise<GuestAnswer> {
  try {
    const answer = await guest.call({ method: 'POST', path: '/v1/snapshot' });
    // Saving ends the connection.
    return answer.on('error', () => undefined);
  } catch (error) {
    if (error instanceof PortholeError && error.code === 'conflict') {
      throw new MemoryNotSaved(error.message, error);
    }
    throw error;
  }
}

/** The files of the guest, which are complete once it has closed its sockets. */
async function receiveState(answer: GuestAnswer, path: string): Promise<void> {
  const file = createWriteStream(path);
  try {
    const pieces = answer.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const { type, payload } of readFrames(pieces, FRAMES)) {
      if (type === SNAPSHOT.ready) return;
      // A copy: the bytes are freed.
      if (!file.write(Buffer.from(payload))) await once(file, 'drain');
    }
    throw new Error('the guest ended its answer');
  } finally {
    file.end();
    await once(file, 'close');
  }
}
