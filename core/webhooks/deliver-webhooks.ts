import { anySignal } from '#base/concurrency.ts';
import { type Owner, type WakingClock, later } from '#base/clock-and-ids.ts';
import { chainAudit } from '../audit/seal-audit.ts';
import type { Records } from '../records.ts';
import { type AttemptOutcome, decideAttempt } from './attempt-decision.ts';
import { cloudEventOf } from './event-body.ts';
import { signatureHeaders } from './sign-webhook.ts';
import type { Attempt } from './webhook-store.ts';

/** Attempts at once, so that slow receivers take neither all memory nor the place of others. */
const MAX_IN_ALL = 256;
const MAX_OF_OWNER = 48;
const MAX_OF_WEBHOOK = 32;
/** In which a receiver answers, in milliseconds. */
const ANSWER_MS = 15_000;
/** Longer than an attempt: then another process may repeat it. */
const LEASE_MS = 30_000;
/** What happens within this time is read together: each reading costs some queries. */
const TOGETHER_MS = 25;
/** After a failure of the records, in milliseconds. */
const RETRY_MS = 5_000;

export interface SentMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends a message to a receiver. It checks each address that it connects to. */
export interface WebhookSender {
  /** Why a URL is never called; undefined: it may be. */
  refusal(url: URL): string | undefined;
  /** Never rejects. */
  send(message: SentMessage, signal: AbortSignal): Promise<AttemptOutcome>;
  close(): void;
}

export interface WebhookDeliveriesDeps {
  readonly records: Pick<Records, 'webhooks' | 'audit'>;
  readonly clock: WakingClock;
  /** Loaded on demand: most installations have no webhook. */
  readonly sender: () => Promise<WebhookSender>;
  /** `source` of the events. */
  readonly source: string;
  readonly failed: (error: unknown) => void;
  /** @default Math.random */
  readonly chance?: () => number;
}

/**
 * Delivers what is due. Several processes may do so at once: each attempt is claimed first. A
 * process that is killed leaves its claims, which end by themselves.
 */
export class WebhookDeliveries {
  readonly #deps: WebhookDeliveriesDeps;
  readonly #running = new Map<Promise<void>, { readonly hookId: string; readonly owner: string }>();
  readonly #closing = new AbortController();
  /** Whether any webhook wants events. */
  #isActive = false;
  #woken = Promise.withResolvers<void>();
  #loop: Promise<void> | undefined;
  #sender: Promise<WebhookSender> | undefined;

  constructor(deps: WebhookDeliveriesDeps) {
    this.#deps = deps;
  }

  async refusal(url: URL): Promise<string | undefined> {
    return (await this.#openSender()).refusal(url);
  }

  /** Delivers from now on, as soon as an event is stored or a retry is due, until it is closed. */
  start(): void {
    const stop = this.#deps.records.audit.watch(() => this.wake());
    this.#loop ??= this.#keepDelivering().finally(stop);
  }

  /** Something may be due. Does nothing unless it was started. */
  wake(): void {
    this.#woken.resolve();
  }

  /** Makes deliveries of all stored events. */
  async settled(): Promise<void> {
    const { webhooks, audit } = this.#deps.records;
    await chainAudit({ records: { audit } });
    while (await webhooks.fanOut(this.#deps.clock.now()));
  }

  /** Delivers all that is due, for a process that is not started; what is due later waits. */
  async pass(signal: AbortSignal): Promise<void> {
    await this.#deps.records.webhooks.hasten(this.#deps.clock.now());
    if (this.#loop !== undefined) return this.wake();
    while (!signal.aborted) {
      await this.#begin(signal);
      if (this.#running.size === 0) return;
      await Promise.race(this.#running.keys());
    }
    await Promise.all(this.#running.keys());
  }

  /** Interrupts running attempts: they are due again. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.wake();
    await this.#loop;
    await Promise.all(this.#running.keys());
    (await this.#sender)?.close();
  }

  #openSender(): Promise<WebhookSender> {
    return (this.#sender ??= this.#deps.sender());
  }

  async #keepDelivering(): Promise<void> {
    const { clock, failed } = this.#deps;
    while (!this.#closing.signal.aborted) {
      this.#woken = Promise.withResolvers();
      let next: Date | undefined;
      try {
        next = await this.#begin(this.#closing.signal);
      } catch (error) {
        failed(error);
        next = later(clock, RETRY_MS);
      }
      await this.#wokenOr(next);
      if (this.#isActive) await clock.until(later(clock, TOGETHER_MS), this.#closing.signal);
    }
  }

  async #wokenOr(next: Date | undefined): Promise<void> {
    const over = new AbortController();
    const due = next === undefined ? [] : [this.#deps.clock.until(next, over.signal)];
    await Promise.race([this.#woken.promise, ...due]);
    over.abort();
  }

  /** Begins what is due and has a place. Returns when more is due. */
  async #begin(signal: AbortSignal): Promise<Date | undefined> {
    const { clock, records } = this.#deps;
    this.#isActive = await records.webhooks.hasActive();
    if (!this.#isActive) return undefined;
    await this.settled();
    for (const { id, owner, dueAt } of await records.webhooks.due()) {
      const now = clock.now();
      if (dueAt > now) return dueAt;
      const most = this.#places(id, owner);
      if (most <= 0 || signal.aborted) continue;
      const leaseUntil = new Date(now.getTime() + LEASE_MS);
      for (const attempt of await records.webhooks.claim(id, { most, now, leaseUntil })) {
        const attempted = this.#attempt(attempt, signal)
          .catch(this.#deps.failed)
          .finally(() => {
            this.#running.delete(attempted);
            this.wake();
          });
        this.#running.set(attempted, { hookId: id, owner: ownerText(owner) });
      }
    }
    return undefined;
  }

  #places(hookId: string, owner: Owner): number {
    const running = [...this.#running.values()];
    const ofOwner = running.filter((each) => each.owner === ownerText(owner)).length;
    const ofHook = running.filter((each) => each.hookId === hookId).length;
    return Math.min(MAX_IN_ALL - running.length, MAX_OF_OWNER - ofOwner, MAX_OF_WEBHOOK - ofHook);
  }

  async #attempt(attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { clock, records, chance = Math.random } = this.#deps;
    const outcome = await this.#send(attempt, signal);
    const now = clock.now();
    const decision = decideAttempt(outcome, attempt.hook, attempt.delivery, now, chance());
    await records.webhooks.complete(attempt, decision, now);
  }

  async #send({ hook, event }: Attempt, stopping: AbortSignal): Promise<AttemptOutcome> {
    const { source, clock } = this.#deps;
    if (event?.details == null) return 'removed';
    const body = JSON.stringify(cloudEventOf(event, event.details, source));
    const headers = signatureHeaders({ id: event.id, body }, hook.keys, clock.now());
    const late = AbortSignal.timeout(ANSWER_MS);
    const sender = await this.#openSender();
    const outcome = await sender.send({ url: hook.url, headers, body }, anySignal(stopping, late));
    if (typeof outcome === 'object' && 'status' in outcome) return outcome;
    if (stopping.aborted) return 'interrupted';
    return late.aborted
      ? { error: `The receiver did not answer within ${ANSWER_MS / 1_000} seconds` }
      : outcome;
  }
}

function ownerText({ org, user }: Owner): string {
  return JSON.stringify([org, user]);
}
