import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { endpointOf } from '#core/network/network-host.ts';
import { ofSight } from '#core/pages/classify-sight.ts';
import type { Interruption, PageFacts, PageObservation, PageVisit } from '#core/pages/page-browser.ts';
import { PASS_COOKIE } from '#proxy/access/access-gate.ts';
import { findBarriers, loadAxe } from './accessibility.ts';
import { readOverlay, type ShownOverlay, viteError } from './error-overlays.ts';
import { findElement } from './find-element.ts';
import { ThreadWatch } from './blocked-thread.ts';
import { outcomeOf } from './failure-outcomes.ts';
import { evaluateIsolated } from './isolated-world.ts';
import { comparePictures, takePicture } from './page-pictures.ts';
import { PageRecorder, whyUnresponsive } from './page-recorder.ts';
import { type Seen, seeInDark, seePage } from './page-sight.ts';
import { awaitCondition, nearestElements, runStep, stepFailure } from './page-steps.ts';
import type { PreparedPage } from './prepared-page.ts';
import { type ScriptPlace, servedPlace, SourceMaps } from './source-maps.ts';

const PROBE = readFileSync(new URL('./page-probe.js', import.meta.url), 'utf8');

/** Time limit of a look, and the part reserved for the final measurement, in milliseconds. */
const LOOK_MS = 20_000;
const MEASURE_MS = 5_000;
const EXAMINE_MS = 2_000;
const NAVIGATE_MS = 12_000;
/** Longest wait for the load event, and for a main thread that is blocked before it. */
const LOAD_MS = 8_000;
/** Longest wait for a page that is still loading or blank. */
const SETTLE_MS = 4_000;
/** Other faults before this time are not final: they may be those of the start. */
const CONFIRM_MS = 1_500;
/** Time after a failed request in which the page may try it again. */
const RETRY_MS = 1_500;
/** Time that a page with scripts is watched: it may load itself again. */
const WATCH_MS = 1_000;
/** Time without another navigation after which a page that reloaded itself counts as stable. */
const STAY_MS = 2_500;
const MAX_WATCH_MS = 8_000;
/** Navigations within that time that make a page unstable. */
const MANY_NAVIGATIONS = 3;
/** Longest refresh that is waited for, in seconds. */
const SHORT_REFRESH = 2;
/** Usual time of one measurement. A busy machine gets the time that is lost. */
const USUAL_MS = 150;
const MAX_LOST_MS = 5_000;
/** Wait for a dev server's error overlay, which arrives after the failed script. */
const OVERLAY_MS = 1_500;
const QUIET_MS = 100;
const NETWORK_IDLE_MS = 500;
const POLL_MS = 50;
const MAX_DIALOGS = 10;
const MAX_OUTLINE_CHARS = 24_000;
/** The accessibility of a larger page is not examined. */
const MAX_EXAMINED = 5_000;

const WORTH_A_MAP: ReadonlySet<string> = new Set(['error', 'warning']);

interface Measured {
  readonly facts: PageFacts;
  readonly overlays: readonly ShownOverlay[];
  readonly timings: PageObservation['timings'];
  readonly contentType: string;
  readonly seen?: Seen | undefined;
}

/**
 * Opens one page, does the steps, and measures what a visitor sees. The caller closes the page,
 * which is used for no other visit.
 */
export function visitPage(
  prepared: PreparedPage,
  visit: PageVisit,
  signal: AbortSignal,
  isSecondTry = false,
): Promise<PageObservation> {
  return new PageVisitRun(prepared, visit, isSecondTry).observe(signal);
}

/** Faults of pages that have not started yet. */
const SLOW_FAULTS: ReadonlySet<string> = new Set([
  'blank',
  'still_loading',
  'hidden',
  'zero_size',
  'covered',
]);

class PageVisitRun {
  readonly #prepared: PreparedPage;
  readonly #page: Page;
  readonly #allowed: ReadonlySet<string>;
  readonly #visit: PageVisit;
  readonly #isSecondTry: boolean;
  readonly #recorder: PageRecorder;
  readonly #blocked: Record<string, number> = {};
  readonly #interrupted = Promise.withResolvers<void>();
  #interruption: Interruption | null = null;

  constructor(prepared: PreparedPage, visit: PageVisit, isSecondTry: boolean) {
    this.#prepared = prepared;
    this.#isSecondTry = isSecondTry;
    this.#page = prepared.page;
    this.#visit = visit;
    const hosts = [visit.origin, ...visit.siblings.map(({ origin }) => origin)];
    this.#allowed = new Set(hosts.map(hostPort));
    this.#recorder = new PageRecorder({
      allowed: this.#allowed,
      shorten: (text) => shorten(text, visit),
      interrupt: (why) => this.#interrupt(why),
    });
  }

  async observe(signal: AbortSignal): Promise<PageObservation> {
    const { proxy, cdp, frameId } = this.#prepared;
    const limit = setTimeout(() => this.#interrupt('time'), LOOK_MS - MEASURE_MS);
    const began = performance.now();
    const gone = (): void => this.#interrupt('time');
    signal.addEventListener('abort', gone, { once: true });
    try {
      this.#guard();
      this.#recorder.listen(cdp, frameId);
      proxy.allow(this.#allowed);
      let navigationError: string | null = null;
      let failedStep: PageObservation['failedStep'] = null;
      let settled: Measured | undefined;
      const goOn = (async () => {
        navigationError = await this.#open();
        if (navigationError !== null) return;
        settled = await this.#settle();
        if (this.#visit.steps.length > 0 || this.#visit.waitFor !== undefined) {
          settled = undefined;
          failedStep = await this.#act();
        }
      })();
      goOn.catch(() => undefined);
      await Promise.race([goOn.catch(() => undefined), this.#interrupted.promise]);
      const left = Math.max(1_000, LOOK_MS - (performance.now() - began));
      return await this.#measure(
        { navigationError, failedStep, settled },
        this.#interruption === null ? left : Math.min(left, MEASURE_MS),
      );
    } finally {
      clearTimeout(limit);
      signal.removeEventListener('abort', gone);
    }
  }

  #interrupt(why: Interruption): void {
    this.#interruption ??= why;
    this.#interrupted.resolve();
  }

  /** Blocks dialogs, downloads and popups, and ends the look on a crash. */
  #guard(): void {
    const { context, page } = this.#prepared;
    const count = (what: string): number => (this.#blocked[what] = (this.#blocked[what] ?? 0) + 1);
    page.on('dialog', (dialog) => {
      if (dialog.type() === 'beforeunload') return void dialog.accept().catch(() => undefined);
      if (count('dialog') > MAX_DIALOGS) return this.#interrupt('dialogs');
      return void dialog.dismiss().catch(() => undefined);
    });
    page.on('download', () => void count('download'));
    page.on('crash', () => this.#interrupt('crash'));
    context.on('page', (other) => {
      if (other === page) return;
      if (count('popup') > MAX_DIALOGS) this.#interrupt('dialogs');
      void other.close().catch(() => undefined);
    });
  }

  /** Returns the browser's error when no document was received. */
  async #open(): Promise<string | null> {
    const { origin, path } = this.#visit;
    try {
      await this.#showPasses();
      const answer = await this.#page.goto(origin + path, { waitUntil: 'commit', timeout: NAVIGATE_MS });
      // A person would be asked for them. The headless shell shows the body instead.
      const isAsked = answer?.status() === 401 && 'www-authenticate' in answer.headers();
      if (isAsked) return 'net::ERR_INVALID_AUTH_CREDENTIALS';
    } catch (error) {
      const { message } = error as Error;
      const found = /net::ERR_\w+/.exec(message)?.[0];
      if (message.includes('Download is starting')) return 'download';
      return found ?? (/Timeout/.test(message) ? 'timeout' : 'failed');
    }
    return null;
  }

  /** A cookie, not a header: WebSockets have it too. */
  async #showPasses(): Promise<void> {
    const cookies = [this.#visit, ...this.#visit.siblings].flatMap(({ origin, pass }) => {
      if (pass === undefined) return [];
      // Chromium sends secure cookies to localhost without TLS, but takes none for it here.
      const url = origin.replace(/^http:/, 'https:');
      return [
        { name: PASS_COOKIE, value: pass, url, secure: true, httpOnly: true, sameSite: 'None' as const },
      ];
    });
    if (cookies.length > 0) await this.#prepared.context.addCookies(cookies);
  }

  async #act(): Promise<PageObservation['failedStep']> {
    for (const [at, step] of this.#visit.steps.entries()) {
      this.#recorder.beginStep();
      try {
        await runStep(this.#page, this.#visit.origin, step);
      } catch (error) {
        const selector = 'selector' in step ? step.selector : undefined;
        return {
          step: at + 1,
          reason: this.#short(stepFailure(error)),
          nearest: await nearestElements(this.#page, selector),
        };
      }
      await this.#quiet(QUIET_MS, SETTLE_MS / 2);
    }
    const { waitFor } = this.#visit;
    if (waitFor === undefined) return null;
    if ('state' in waitFor) {
      await this.#quiet(NETWORK_IDLE_MS, LOAD_MS);
      if (this.#recorder.quietMs < NETWORK_IDLE_MS && this.#interruption === null) {
        const loading = this.#recorder.pending.slice(0, 3).join(', ') || 'new requests';
        const reason = `the network was not idle within ${LOAD_MS / 1_000} s, still loading: ${loading}`;
        return { step: 0, reason, nearest: [] };
      }
    } else {
      try {
        await awaitCondition(this.#page, waitFor);
      } catch (error) {
        const reason = this.#short(stepFailure(error));
        return { step: 0, reason, nearest: await nearestElements(this.#page, undefined) };
      }
    }
    return null;
  }

  /**
   * Waits until the page has loaded and is quiet; longer while it shows a fault that time may mend,
   * or loads itself again.
   */
  async #settle(): Promise<Measured | undefined> {
    const loaded = this.#page.waitForLoadState('load', { timeout: LOAD_MS }).catch(() => undefined);
    await Promise.race([loaded, this.#untilBlocked(loaded)]);
    if (this.#visit.picture !== undefined) this.#preparePicture();
    const began = performance.now();
    let until = began + SETTLE_MS;
    let failedAt: number | undefined;
    let isRepeated = false;
    let waitMs = POLL_MS * 4;
    for (;;) {
      await this.#quiet(QUIET_MS, until - performance.now());
      if (this.#interruption !== null) return undefined;
      const asked = performance.now();
      const measured = await this.#probeTwice();
      if (measured === undefined) return undefined;
      const { facts, overlays } = measured;
      const isBlank = facts.textLength + facts.media + facts.controls === 0;
      const { errors, hasFailed, hasHotReload } = this.#recorder;
      if (hasFailed) failedAt ??= performance.now();
      const overlayUntil = isBlank ? until : (failedAt ?? 0) + OVERLAY_MS;
      const awaitsOverlay = hasHotReload && failedAt !== undefined && performance.now() < overlayUntil;
      if (awaitsOverlay && !isRepeated && (this.#recorder.document?.status ?? 0) >= 500) {
        isRepeated = true;
        void this.#repeat();
      }
      const seen = await this.#see(facts);
      // A busy machine has slept through this.
      until += Math.min(MAX_LOST_MS, Math.max(0, performance.now() - asked - USUAL_MS));
      const now = performance.now();
      const { navigations, stayedMs } = this.#recorder;
      if (navigations > 0 && stayedMs < STAY_MS) {
        if (now < began + MAX_WATCH_MS) {
          await pause(waitMs);
          continue;
        }
        if (navigations >= MANY_NAVIGATIONS) {
          this.#interrupt('navigations');
          return undefined;
        }
      }
      if (overlays.length + errors.length > 0 || now > Math.min(until, began + LOAD_MS)) {
        return { ...measured, seen };
      }
      const isWaiting = awaitsOverlay || this.#maySettle(measured, seen, { now, began, until, failedAt });
      if (!isWaiting) return { ...measured, seen };
      await pause(waitMs);
      waitMs = Math.min(waitMs * 1.5, POLL_MS * 20);
    }
  }

  /** Whether the page may be another one in a moment. */
  #maySettle(
    measured: Measured,
    seen: Seen | undefined,
    times: {
      readonly now: number;
      readonly began: number;
      readonly until: number;
      readonly failedAt: number | undefined;
    },
  ): boolean {
    const { facts } = measured;
    const { now, began, until, failedAt } = times;
    const { hasFailed, stayedMs, document } = this.#recorder;
    if ((document?.status ?? 0) >= 400) return false;
    if (failedAt !== undefined && now < failedAt + RETRY_MS) return true;
    if (seen === undefined) return false;
    if (seen.refresh !== null && seen.refresh <= SHORT_REFRESH && stayedMs < STAY_MS) return true;
    if (seen.hasScripts && now < began + WATCH_MS) return true;
    if (seen.isChanging && now < until) return true;
    if (facts.loading && !hasFailed && now < until) return true;
    const faults = this.#sightFaults(measured, seen);
    if (faults.length === 0 || hasFailed) return false;
    const mayMend = faults.some(({ kind }) => SLOW_FAULTS.has(kind));
    return now < (mayMend ? until : began + CONFIRM_MS);
  }

  #sightFaults({ facts, contentType }: Measured, { sight }: Seen) {
    const { document, pending } = this.#recorder;
    return ofSight({
      facts,
      sight,
      contentType,
      pending,
      status: document?.status ?? null,
      overlays: [],
      url: this.#visit.path,
    });
  }

  /** Undefined where the page cannot be pictured in time. */
  #see(facts: PageFacts): Promise<Seen | undefined> {
    return within(seePage(this.#prepared, facts), MEASURE_MS).catch(() => undefined);
  }

  /**
   * Requests the document again. Vite tells of an error only the pages that are connected at that
   * moment: if a person watches the preview, not the page that requested it.
   */
  async #repeat(): Promise<void> {
    const { page, cdp, frameId } = this.#prepared;
    try {
      const { resource } = await cdp.send('Network.loadNetworkResource', {
        frameId,
        url: page.url(),
        options: { disableCache: true, includeCredentials: true },
      });
      if (resource.stream !== undefined) await cdp.send('IO.close', { handle: resource.stream });
    } catch {
      // The overlay is missing, as it was before.
    }
  }

  /** Loads what a look measures with, while it waits for a quiet page. */
  #preparePicture(): void {
    const axe = loadAxe(this.#prepared);
    const outline = this.#page.locator('head').ariaSnapshot({ timeout: EXAMINE_MS });
    for (const each of [axe, outline]) each.catch(() => undefined);
  }

  /** Interrupts the look if a script blocks the main thread while the page loads. */
  async #untilBlocked(loaded: Promise<void>): Promise<void> {
    const loading = { isOver: false };
    void loaded.then(() => (loading.isOver = true));
    while (!loading.isOver) {
      const watch = new ThreadWatch(this.#prepared.cdp);
      try {
        await within(this.#prepared.cdp.send('Runtime.evaluate', { expression: '0' }), LOAD_MS);
      } catch (error) {
        // A document that is replaced during the call rejects it, too.
        if (error === NOT_IN_TIME) this.#interrupt(await this.#whySilent(watch));
      }
      await Promise.race([loaded, pause(POLL_MS * 10)]);
    }
  }

  async #whySilent(watch: ThreadWatch): Promise<Interruption> {
    const why = whyUnresponsive(this.#recorder.console);
    return why === 'console_flood' || (await watch.isBlocked(this.#isSecondTry)) ? why : 'no_answer';
  }

  async #quiet(forMs: number, mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    while (this.#recorder.quietMs < forMs && performance.now() < until && this.#interruption === null) {
      await pause(this.#recorder.quietMs === 0 ? POLL_MS / 2 : forMs - this.#recorder.quietMs);
    }
  }

  /** Retries once, for a page that navigates during the measurement. */
  async #probeTwice(): Promise<Measured | undefined> {
    for (const more of [true, false]) {
      const watch = new ThreadWatch(this.#prepared.cdp);
      try {
        return (await within(evaluateIsolated(this.#prepared, PROBE), MEASURE_MS)) as Measured;
      } catch (error) {
        if (error === NOT_IN_TIME) {
          // Says more than that the time is over.
          this.#interruption = await this.#whySilent(watch);
          return undefined;
        }
        if (more) await pause(POLL_MS * 4);
      }
    }
    return undefined;
  }

  async #measure(
    {
      settled,
      ...open
    }: Pick<PageObservation, 'navigationError' | 'failedStep'> & { readonly settled: Measured | undefined },
    leftMs: number,
  ): Promise<PageObservation> {
    const recorder = this.#recorder;
    const isShown = open.navigationError === null && this.#interruption !== 'crash';
    // A page that was stopped for endless work is not measured: the work continues.
    const canMeasure = isShown && (this.#interruption === null || this.#interruption === 'time');
    const measured = settled ?? (canMeasure ? await this.#probeTwice() : undefined);
    const isLook = this.#visit.picture !== undefined;
    const seen = measured === undefined ? undefined : (measured.seen ?? (await this.#see(measured.facts)));
    const [outline, picture, accessibility] =
      measured !== undefined && isLook
        ? await Promise.all([
            this.#outline(measured, leftMs / 2),
            takePicture(this.#page, this.#visit, leftMs / 2),
            this.#accessibility(measured, leftMs / 2),
          ])
        : [null, null, null];
    const sight = await this.#withDarkScheme(seen);
    const maps = new SourceMaps(this.#prepared, this.#visit.origin, recorder.scripts);
    const place = async (at: ScriptPlace | undefined) =>
      at === undefined || measured === undefined
        ? null
        : await within(maps.original(at), 1_500).catch(() => null);
    const { point, origin } = this.#visit;
    const served = (at: ScriptPlace | undefined) => (at === undefined ? null : servedPlace(at, origin));
    const element =
      measured === undefined || point === undefined
        ? null
        : await within(
            findElement(
              {
                page: this.#page,
                frame: this.#prepared,
                origin,
                original: (at) => maps.original(at),
                withinMs: leftMs / 2,
              },
              point,
            ),
            leftMs,
          ).catch(() => null);
    const url = isShown ? this.#page.url() : this.#visit.origin + this.#visit.path;
    recorder.failPagesForData();
    return {
      ...open,
      status: recorder.document?.status ?? null,
      gateway: recorder.document?.gateway ?? null,
      redirects: recorder.redirects,
      url: this.#short(url),
      contentType: measured?.contentType ?? null,
      console: await mapConcurrently(recorder.console, async ({ at, ...message }) => ({
        ...message,
        // Few logs are worth the time to load a source map.
        place: WORTH_A_MAP.has(message.level) ? await place(at[0]) : served(at[0]),
      })),
      errors: await mapConcurrently(recorder.errors, async ({ at, message }) => ({
        message,
        frames: (
          await mapConcurrently(at, async (frame) => {
            const found = await place(frame);
            return found === null ? undefined : { ...found, function: frame.function };
          })
        ).filter((frame) => frame !== undefined),
      })),
      failed: await mapConcurrently(recorder.failed, async (failure) => {
        const { at, byCode: _, byElement: __, fullUrl: ___, ...request } = failure;
        const outcome = outcomeOf(failure, recorder, seen?.urls);
        return { ...request, outcome, initiator: await place(at[0]) };
      }),
      overlays: [...(measured?.overlays ?? []), ...(await this.#answeredErrors(measured))].map((shown) => {
        const overlay = readOverlay(shown, this.#visit.origin);
        return { ...overlay, message: this.#short(overlay.message).slice(0, 1_000) };
      }),
      sockets: [...recorder.sockets.values()],
      pending: recorder.pending.slice(0, 20),
      facts: measured === undefined ? null : { ...measured.facts, text: this.#short(measured.facts.text) },
      sight: sight === undefined ? null : this.#shortSight(sight),
      outline,
      accessibility,
      timings: measured?.timings ?? { ttfbMs: null, fcpMs: null, lcpMs: null, loadMs: null },
      interruption: this.#interruption,
      blocked: this.#blocked,
      picture,
      ...(picture === null
        ? { thumbnail: null, difference: null }
        : comparePictures(picture, this.#visit.previous)),
      element,
    };
  }

  /** Adds what only a person with a dark color scheme sees. */
  async #withDarkScheme(seen: Seen | undefined): Promise<Seen['sight'] | undefined> {
    if (seen === undefined || !seen.hasDarkScheme || this.#interruption !== null) return seen?.sight;
    const dark = await within(seeInDark(this.#prepared), MEASURE_MS).catch(() => undefined);
    const { sight } = seen;
    return dark === undefined ? sight : { ...sight, unreadable: [...sight.unreadable, dark] };
  }

  #shortSight(sight: Seen['sight']): Seen['sight'] {
    const { structure } = sight;
    const { heading, sample, code, comments } = structure;
    const [shortHeading, shortSample, shortCode, shortComments] = [heading, sample, code, comments].map(
      (text) => this.#short(text),
    ) as [string, string, string, string];
    const texts = { heading: shortHeading, sample: shortSample, code: shortCode, comments: shortComments };
    return { ...sight, structure: { ...structure, ...texts } };
  }

  async #outline({ facts }: Measured, timeout: number): Promise<string | null> {
    if (facts.truncated) return null;
    const text = await this.#page
      .locator('body')
      .ariaSnapshot({ timeout })
      .catch(() => null);
    return text === null
      ? null
      : this.#short(text.slice(0, MAX_OUTLINE_CHARS * 2)).slice(0, MAX_OUTLINE_CHARS);
  }

  async #accessibility({ facts }: Measured, withinMs: number): Promise<PageObservation['accessibility']> {
    if (facts.elements > MAX_EXAMINED) return null;
    const found = await within(findBarriers(this.#prepared), withinMs).catch(() => null);
    return (
      found?.map((each) => ({ ...each, elements: each.elements.map((text) => this.#short(text)) })) ?? null
    );
  }

  /** What a dev server answered instead of scripts, where the page shows no overlay. */
  async #answeredErrors(measured: Measured | undefined): Promise<readonly ShownOverlay[]> {
    if (measured === undefined || measured.overlays.length > 0) return [];
    const found = await mapConcurrently(this.#recorder.brokenScripts, (url) =>
      within(viteError(this.#prepared, url), MEASURE_MS).catch(() => undefined),
    );
    return found.filter((error) => error !== undefined).slice(0, 1);
  }

  #short(text: string): string {
    return shorten(text, this.#visit);
  }
}

function mapConcurrently<T, R>(all: readonly T[], of: (one: T) => Promise<R>): Promise<R[]> {
  return Promise.all(all.map(of));
}

const NOT_IN_TIME = new Error('not in time');

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  const timer = Promise.withResolvers<never>();
  const limit = setTimeout(() => timer.reject(NOT_IN_TIME), ms);
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, timer.promise]);
  } finally {
    clearTimeout(limit);
  }
}

/** A preview's origin contains its token: replace it by paths, and other previews by their port. */
function shorten(text: string, { origin, siblings }: PageVisit): string {
  let short = text;
  for (const sibling of siblings) {
    for (const scheme of ['', 'ws']) {
      short = short.replaceAll(
        scheme + sibling.origin.slice(scheme === '' ? 0 : 4),
        `preview:${sibling.port}`,
      );
    }
  }
  const socket = origin.replace(/^http/, 'ws');
  for (const own of [origin, socket]) short = short.replaceAll(`${own}/`, '/').replaceAll(own, 'the preview');
  const { host, hostname } = new URL(origin);
  // A text that is cut off may end within the name.
  const [label = hostname] = hostname.split('.');
  const hidden = short.replaceAll(host, 'the preview');
  // Names without that suffix may be ordinary words: they stay.
  return label.endsWith('-preview') ? hidden.replaceAll(label, 'the preview') : hidden;
}

function hostPort(origin: string): string {
  const url = new URL(origin);
  return `${url.hostname}:${endpointOf(url).port}`;
}
