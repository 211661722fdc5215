import type { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import type * as schemas from './visit-schemas.ts';

export const CONSOLE_LEVELS = ['error', 'warning', 'info', 'log', 'debug'] as const;

export const FAILURE_REASONS = [
  'status',
  /** CORS: the page may not read the answer of another origin. */
  'cors',
  /** The page's Content-Security-Policy blocks it. */
  'csp',
  /** An HTTP resource on an HTTPS page. */
  'mixed_content',
  /** A loopback address: the visitor's own machine, not the sandbox. */
  'visitor_machine',
  /** Another origin, which this browser may not load. */
  'other_origin',
  'refused',
  'network',
] as const;

/** What a failed request meant for the page. */
export const FAILURE_OUTCOMES = [
  /** Its absence is visible, or nothing handles the failure. */
  'missing',
  /** Its absence is not visible, or its element handles the failure. */
  'harmless',
  /** Code asked for it, and no error followed. */
  'caught',
  /** A later request for the same address succeeded. */
  'recovered',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;
type Of<S extends z.ZodType> = Immutable<z.infer<S>>;

export type PageVisit = Of<typeof schemas.pageVisit>;
export type Point = Of<typeof schemas.point>;
export type Viewport = Of<typeof schemas.viewport>;
export type WaitFor = Of<typeof schemas.waitFor>;
export type PageStep = Of<typeof schemas.pageStep>;
export type SourcePlace = Of<typeof schemas.sourcePlace>;
export type ConsoleMessage = Of<typeof schemas.consoleMessage>;
export type PageError = Of<typeof schemas.pageError>;
export type FailedRequest = Of<typeof schemas.failedRequest>;
export type ErrorOverlay = Of<typeof schemas.errorOverlay>;
export type PageFacts = Of<typeof schemas.pageFacts>;
export type PageSight = Of<typeof schemas.pageSight>;
export type AccessibilityFinding = Of<typeof schemas.accessibilityFinding>;
export type SocketState = Of<typeof schemas.socketState>;
export type Picture = Of<typeof schemas.picture>;
export type Area = Of<typeof schemas.area>;
export type PixelDifference = Of<typeof schemas.pixelDifference>;
export type PageElement = Of<typeof schemas.pageElement>;
export type Interruption = Of<typeof schemas.interruption>;
export type PageObservation = Of<typeof schemas.pageObservation>;

/** A real browser. Its results contain text of the page: hostile input. */
export interface PageBrowser {
  /** Whether a browser is installed; otherwise `observe` throws `browser_missing`. */
  isInstalled(): boolean;
  /**
   * Ends within a minute, whatever the page does, or within two if another page ended the browser.
   * @throws PortholeError `browser_missing`, `browser_failed`, `too_many_looks`
   */
  observe(visit: PageVisit, owner: string, signal?: AbortSignal): Promise<PageObservation>;
  close(): Promise<void>;
}

/** For an installation without the feature `pages`. */
export const NO_BROWSER: PageBrowser = {
  isInstalled: () => false,
  observe: () => Promise.reject(new PortholeError('browser_missing', 'Pages are switched off here')),
  close: () => Promise.resolve(),
};
