import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { PortholeError } from '#base/errors.ts';
import type { Preview, PreviewPlane } from '#core/previews/preview-plane.ts';
import type { Records } from '#core/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { NewEvent } from '#core/runs/timeline.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { isPastMaximum, previewDecision, isFullPass } from '#core/previews/preview-lifetime.ts';
import { tokenSha256 } from '#core/previews/preview-token.ts';
import { keepPreviewAlive, stopPreview } from '#core/previews/live-previews.ts';
import { reapPreviews } from '#core/previews/reap-previews.ts';
import { startPreview } from '#core/previews/start-preview.ts';
import { interleavedPlane, interleavedRecords, type Turn } from '#test/doubles/interleaved.ts';
import type { PinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { collect } from '#test/support/collect.ts';

/** An action of a client on one run and port, or of any actor on all of them. */
export type Action =
  | { readonly do: 'start' | 'rotate' | 'stop' | 'keep'; readonly pair: number }
  | { readonly do: 'keep-old'; readonly pair: number }
  | { readonly do: 'reap' }
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'destroy'; readonly pair: number };

export interface Pair {
  readonly run: RunRecord;
  readonly port: number;
}

/** One object of the plane, from its creation to its end, counted in effects. */
interface Life {
  readonly token: string;
  readonly runId: string;
  readonly port: number;
  until: number | undefined;
}

export interface WorldOptions {
  readonly plane: PreviewPlane;
  readonly reaches: (token: string) => boolean;
  /** Whether an unconfirmed preview must not serve, not even during its start. */
  readonly strict: boolean;
  readonly records: Records;
  readonly clock: PinnedClock;
  readonly pairs: readonly Pair[];
  readonly options: PreviewOptions;
}

/**
 * Clients, reapers and time acting on one plane, observed by an oracle that knows each effect in
 * order. A violated invariant is thrown as an error in the turn in which it happens.
 */
export class PreviewWorld {
  readonly #setup: WorldOptions;
  readonly #tokens = plainTokens();
  readonly #lives = new Map<string, Life>();
  /** sha256 of the tokens that were stopped or rotated, from the moment of the request. */
  readonly #ended = new Set<string>();
  /** The uids of lives that were returned to a caller. */
  readonly #answered = new Set<string>();
  /** The keys of the events in timelines. */
  readonly #reported = new Set<string>();
  /** Tokens with an acknowledged end. */
  readonly #revoked = new Set<string>();
  /** The last acknowledged expiry, by token. */
  readonly #keptUntil = new Map<string, { until: Date; uid: string }>();
  readonly #known = new Map<Pair, string[]>();
  readonly #destroyed = new Set<string>();
  readonly #starting = new Set<{ pair: Pair; mostOthers: number }>();
  readonly #violations: string[] = [];
  #effects = 0;
  #reaped = 0;
  #closedByReapers = 0;

  constructor(setup: WorldOptions) {
    this.#setup = setup;
  }

  /** Runs the actions one after the other, and yields at every step. */
  async client(actions: readonly Action[], schedule: Turn): Promise<void> {
    const turn: Turn = async (label) => {
      await schedule(label);
      this.#look(label);
    };
    for (const action of actions) {
      await turn(`next: ${action.do}`);
      await this.#act(action, turn);
    }
  }

  /** After all activity has ended, and the next full pass of the reaper. */
  async settle(): Promise<void> {
    const { plane, records, clock, options, reaches } = this.#setup;
    while (!isFullPass(clock.now())) clock.advance(60_000);
    const { reaped } = await reapPreviews(this.#deps(async () => undefined, 'reaper'));
    this.#reaped += reaped;
    const left = await collect(plane.list());
    const perRun = new Map<string, number>();
    for (const preview of left) {
      perRun.set(preview.runId, (perRun.get(preview.runId) ?? 0) + 1);
      const generation = await records.previews.generation(preview.runId, preview.targetPort);
      const current = this.#tokens.preview('key-1', preview.runId, preview.targetPort, generation);
      if (preview.token !== current) this.#blame('a preview of an ended generation is left');
      if (!reaches(preview.token)) this.#blame('a half-made preview is left');
      if (this.#decision(preview) !== 'alive')
        this.#blame(`a preview is left that is ${this.#decision(preview)}`);
    }
    for (const count of perRun.values())
      if (count > options.maxPerRun)
        this.#blame(`${count} previews of a run with a cap of ${options.maxPerRun}`);
    for (const [token, { until }] of this.#keptUntil) {
      const preview = left.find((each) => each.token === token);
      if (preview === undefined && this.#mustLive(token, until))
        this.#blame('a preview that was kept alive is lost');
    }
    for (const uid of this.#answered) {
      if (!this.#reported.has(`opened:${uid}`))
        this.#blame('a preview was answered that no timeline tells of');
      const isOver = this.#lives.get(uid)?.until !== undefined;
      if (isOver !== this.#reported.has(`ended:${uid}`))
        this.#blame('a timeline is wrong about the end of a preview');
    }
    if (this.#reaped !== this.#closedByReapers)
      this.#blame(`reapers say ${this.#reaped}, and ended ${this.#closedByReapers}`);
    if (this.#violations.length > 0) throw new Error(this.#violations.join('\n'));
  }

  async #act(action: Action, turn: Turn): Promise<void> {
    const { clock, records } = this.#setup;
    switch (action.do) {
      case 'wait':
        clock.advance(action.milliseconds);
        return;
      case 'reap': {
        const { reaped } = await reapPreviews(this.#deps(turn, 'reaper'));
        this.#reaped += reaped;
        return;
      }
      case 'destroy': {
        const { sandboxId } = this.#pair(action.pair).run;
        this.#destroyed.add(sandboxId);
        await records.sandboxes.setDesired(sandboxId, 'destroyed');
        await records.sandboxes.setObserved(sandboxId, 'destroyed');
        return;
      }
      case 'start':
      case 'rotate':
        return this.#start(this.#pair(action.pair), action.do === 'rotate', turn);
      case 'stop':
        return this.#stop(this.#pair(action.pair), turn);
      case 'keep':
        return this.#keep(this.#pair(action.pair), -1, turn);
      case 'keep-old':
        return this.#keep(this.#pair(action.pair), 0, turn);
    }
  }

  async #start(pair: Pair, rotate: boolean, turn: Turn): Promise<void> {
    const { records } = this.#setup;
    const began = this.#effects;
    const first = await records.previews.generation(pair.run.id, pair.port);
    const watch = { pair, mostOthers: 0 };
    this.#starting.add(watch);
    try {
      const { preview } = await startPreview(
        {
          ...this.#deps(turn, 'start'),
          sandboxes: {
            inspect: async (id) => ({ state: this.#destroyed.has(id) ? 'absent' : 'running', podName: id }),
          },
        },
        { run: pair.run, targetPort: pair.port, rotate },
      );
      const last = await records.previews.generation(pair.run.id, pair.port);
      const possible = new Set<string>();
      for (let generation = rotate ? first + 1 : first; generation <= last; generation += 1)
        possible.add(this.#token(pair, generation));
      if (!possible.has(preview.token)) this.#blame('a start answers an URL of another generation');
      const life = this.#lives.get(preview.uid);
      if (life === undefined) this.#blame('a start answers a preview that never was');
      else if (life.until !== undefined && life.until <= began)
        this.#blame('a start answers a preview that was gone before it began');
      this.#acknowledge(preview);
      const known = this.#known.get(pair) ?? [];
      if (!known.includes(preview.token)) this.#known.set(pair, [...known, preview.token]);
      if (rotate) for (let old = 0; old <= first; old += 1) this.#revoked.add(this.#token(pair, old));
    } catch (error) {
      const code = error instanceof PortholeError ? error.code : undefined;
      if (code === 'too_many_previews') {
        if (watch.mostOthers < this.#setup.options.maxPerRun)
          this.#blame(`a start is refused beside ${watch.mostOthers} other previews`);
      } else if (code === 'no_bound_sandbox') {
        if (!this.#destroyed.has(pair.run.sandboxId)) this.#blame('a start is refused a sandbox that runs');
      } else if (code !== 'preview_conflict') throw error;
    } finally {
      this.#starting.delete(watch);
    }
  }

  async #stop(pair: Pair, turn: Turn): Promise<void> {
    const token = this.#known.get(pair)?.at(-1);
    if (token === undefined) return;
    try {
      await stopPreview(this.#deps(turn, 'stop'), { run: pair.run, token });
      this.#revoked.add(token);
    } catch (error) {
      if (!(error instanceof PortholeError && error.code === 'preview_not_found')) throw error;
    }
  }

  async #keep(pair: Pair, which: number, turn: Turn): Promise<void> {
    const { clock } = this.#setup;
    const token = this.#known.get(pair)?.at(which);
    if (token === undefined) return;
    const wasRevoked = this.#revoked.has(token);
    const kept = this.#keptUntil.get(token);
    const askedAt = clock.now();
    try {
      const preview = await keepPreviewAlive(this.#deps(turn, 'keep'), { run: pair.run, token });
      if (wasRevoked && this.#setup.strict) this.#blame('a keepalive of a stopped URL succeeds');
      this.#acknowledge(preview);
    } catch (error) {
      const code = error instanceof PortholeError ? error.code : undefined;
      if (code !== 'preview_not_found' && code !== 'preview_expired') throw error;
      // Checked against the present: any end has happened by now.
      if (kept !== undefined && askedAt < kept.until && this.#mustLive(token, kept.until))
        this.#blame('a keepalive in time finds its preview gone');
    }
  }

  /** The ports as one actor sees them. */
  #deps(turn: Turn, actor: string) {
    const { plane, records, clock, options } = this.#setup;
    const watched: PreviewPlane = {
      ...plane,
      close: (preview, precondition, signal) => {
        const existing = this.#existing.get(preview.name);
        const closing = plane.close(preview, precondition, signal);
        return closing.then((gone) => {
          this.#effects += 1;
          if (gone && existing !== undefined) this.#closed(existing, actor);
          return gone;
        });
      },
      open: async (spec, signal) => {
        const opened = await plane.open(spec, signal);
        this.#effects += 1;
        this.#note(opened.preview);
        return opened;
      },
      touch: async (token, runId, expiresAt, signal) => {
        const kept = await plane.touch(token, runId, expiresAt, signal);
        this.#effects += 1;
        if (kept !== undefined) this.#note(kept);
        return kept;
      },
    };
    const remembered: Records = {
      ...records,
      previews: {
        ...records.previews,
        end: (runId, port, from, tombstone, reported = []) => {
          this.#ended.add(tombstone.tokenSha256);
          this.#hear(reported);
          return records.previews.end(runId, port, from, tombstone, reported);
        },
        bury: (tombstones) => {
          for (const { tokenSha256: hash, reason } of tombstones)
            if (reason === 'stopped') this.#ended.add(hash);
          return records.previews.bury(tombstones);
        },
      },
      timeline: {
        ...records.timeline,
        append: (runId, events, at) => {
          this.#hear(events);
          return records.timeline.append(runId, events, at);
        },
      },
    };
    return {
      plane: interleavedPlane(watched, turn),
      records: interleavedRecords(remembered, turn),
      tokens: this.#tokens,
      clock,
      previewSettings: options,
      quotas: NO_QUOTAS,
    };
  }

  /** The last written object under each name. */
  readonly #existing = new Map<string, Preview>();

  #hear(reported: readonly NewEvent[]): void {
    for (const { key } of reported) this.#reported.add(key);
  }

  #note(preview: Preview): void {
    this.#existing.set(preview.name, preview);
    if (!this.#lives.has(preview.uid)) {
      this.#lives.set(preview.uid, {
        token: preview.token,
        runId: preview.runId,
        port: preview.targetPort,
        until: undefined,
      });
    }
    this.#look('opened');
  }

  #closed(existing: Preview, actor: string): void {
    const life = this.#lives.get(existing.uid);
    if (life === undefined || life.until !== undefined) this.#blame('a preview ends twice');
    else life.until = this.#effects;
    if (this.#existing.get(existing.name)?.uid === existing.uid) this.#existing.delete(existing.name);
    if (actor === 'reaper') {
      this.#closedByReapers += 1;
      if (this.#decision(existing) === 'alive') this.#blame('a reaper ends a preview that is alive');
    }
    if (actor === 'start' && !this.#ended.has(tokenSha256(existing.token))) {
      const kept = this.#keptUntil.get(existing.token);
      if (
        kept?.uid === existing.uid &&
        !isPastMaximum(existing, this.#setup.options, this.#setup.clock.now())
      )
        this.#blame('a start withdraws a preview that was answered');
    }
  }

  /** Checks the invariants that hold at every instant. */
  #look(label: string): void {
    if (this.#setup.strict) {
      for (const token of this.#revoked)
        if (this.#setup.reaches(token)) this.#blame(`a stopped URL serves again (${label})`);
    }
    for (const watch of this.#starting) {
      const { run, port } = watch.pair;
      let others = 0;
      for (const { until, runId, port: itsPort, token } of this.#lives.values()) {
        if (until !== undefined || runId !== run.id) continue;
        // A preview that a stop is about to delete still exists beside the port's next preview.
        if (itsPort !== port || this.#ended.has(tokenSha256(token))) others += 1;
      }
      watch.mostOthers = Math.max(watch.mostOthers, others);
    }
  }

  #acknowledge({ token, uid, expiresAt }: Preview): void {
    this.#answered.add(uid);
    if (expiresAt !== undefined) this.#keptUntil.set(token, { until: expiresAt, uid });
  }

  #mustLive(token: string, until: Date): boolean {
    const { clock } = this.#setup;
    const life = [...this.#lives.values()].findLast((each) => each.token === token);
    const pair = this.#setup.pairs.find(({ run }) => run.id === life?.runId);
    return (
      clock.now() < until &&
      !this.#ended.has(tokenSha256(token)) &&
      !this.#destroyed.has(pair?.run.sandboxId ?? '')
    );
  }

  #decision(preview: Preview): string {
    const { options, clock } = this.#setup;
    return previewDecision(
      {
        createdAt: preview.createdAt,
        expiresAt: preview.expiresAt,
        maxUntil: preview.maxUntil,
        stopped: this.#ended.has(tokenSha256(preview.token)),
        sandbox: this.#destroyed.has(preview.sandboxId) ? 'destroyed' : 'present',
        run: 'running',
        hasFormerZone: false,
      },
      options,
      clock.now(),
    );
  }

  #pair(at: number): Pair {
    return this.#setup.pairs[at % this.#setup.pairs.length] as Pair;
  }

  #token({ run, port }: Pair, generation: number): string {
    return this.#tokens.preview('key-1', run.id, port, generation);
  }

  #blame(what: string): void {
    if (!this.#violations.includes(what)) this.#violations.push(what);
  }
}
