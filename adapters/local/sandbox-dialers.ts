import { Dialer } from './dialer.ts';
import { ownerOf } from './drop-root.ts';
import { holderOf } from './end-processes.ts';
import type { StartRecord } from './sandbox-folder.ts';

interface Kept {
  /** The start it belongs to: after a resume the network is another. */
  readonly start: string;
  readonly dialer: Promise<Dialer | undefined>;
}

/** The dialers of running sandboxes, each started when its sandbox is first dialled. */
export class SandboxDialers {
  readonly #kept = new Map<string, Kept>();

  /** Undefined where sockets cannot be handed over on this machine, or the sandbox is just ending. */
  get(id: string, started: StartRecord): Promise<Dialer | undefined> {
    const start = `${started.process.pid}@${started.process.start}`;
    const kept = this.#kept.get(id);
    if (kept?.start === start) return kept.dialer;
    this.drop(id);
    const holder = holderOf(started);
    if (holder === undefined) return Promise.resolve(undefined);
    const dialer = Dialer.start({ id, holder, owner: ownerOf(id), ...started.dialer });
    const mine: Kept = { start, dialer };
    this.#kept.set(id, mine);
    void this.#forget(id, mine);
    return dialer;
  }

  /** One that never came up is kept: it is the answer that it cannot be done. */
  async #forget(id: string, kept: Kept): Promise<void> {
    const dialer = await kept.dialer;
    await dialer?.closed;
    if (dialer !== undefined && this.#kept.get(id) === kept) this.#kept.delete(id);
  }

  drop(id: string): void {
    const kept = this.#kept.get(id);
    this.#kept.delete(id);
    void kept?.dialer.then((one) => one?.close());
  }

  async close(): Promise<void> {
    const dialers = [...this.#kept.values()].map(({ dialer }) => dialer);
    this.#kept.clear();
    for (const dialer of await Promise.all(dialers)) {
      dialer?.close();
      await dialer?.closed;
    }
  }
}
