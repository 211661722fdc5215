import type { CallOptions } from '../sandboxes/files.ts';
import type { PagePicture } from './inbox.ts';

/** Actions on a page before it is classified, in order. */
export type PageStep =
  | { readonly action: 'goto'; readonly path: string }
  | { readonly action: 'click' | 'hover'; readonly selector: string }
  | { readonly action: 'fill' | 'select'; readonly selector: string; readonly value: string }
  | { readonly action: 'press'; readonly key: string; readonly selector?: string }
  | {
      readonly action: 'wait';
      readonly selector?: string;
      readonly text?: string;
      readonly milliseconds?: number;
    };

export interface CheckOptions extends CallOptions {
  /** Path and query on the preview. @default / */
  readonly path?: string | undefined;
  readonly device?: 'desktop' | 'tablet' | 'phone' | undefined;
  readonly viewport?: { readonly width: number; readonly height: number } | undefined;
  readonly wait_for?:
    | 'load'
    | 'network_idle'
    | { readonly selector: string }
    | { readonly text: string }
    | undefined;
  readonly steps?: readonly PageStep[] | undefined;
}

export interface WaitingCheckOptions extends CheckOptions {
  /**
   * Seconds to wait first, until a file or a server changes and a second is quiet; at most 240.
   * Checks the page as it is if nothing changes.
   */
  readonly wait_for_change?: number | undefined;
}

export interface LookOptions extends CheckOptions {
  /** Captures the full page. */
  readonly full_page?: boolean | undefined;
}

export interface PageCause {
  /** E.g. `error_overlay`, `uncaught_error`, `cors`, `blank`. */
  readonly kind: string;
  readonly message: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
}

/** Whether a page works for a person. Its texts are the page's: untrusted. */
export interface PageCheck {
  readonly result: 'works' | 'broken' | 'unclear';
  /** `works`, or the result with its likeliest cause. */
  readonly summary: string;
  /** The most likely first. */
  readonly causes: readonly PageCause[];
  /** What failed without harm. */
  readonly notes: readonly string[];
  readonly status: number | null;
  readonly url: string;
  readonly title: string | null;
  /** Whether something changed in the time of `wait_for_change`; null without it. */
  readonly changed?: boolean | null;
  readonly [field: string]: unknown;
}

export interface PageLook extends PageCheck {
  readonly outline: string | null;
  /** Serious and critical findings of axe-core; null for very large pages. */
  readonly accessibility: readonly AccessibilityFinding[] | null;
  /** Base64; null if the page could not be rendered. */
  readonly screenshot: PagePicture | null;
  /** To the last look at the same page in the same way; null for the first one. */
  readonly difference: PageDifference | null;
}

/** A rule of accessibility that elements of the page violate. */
export interface AccessibilityFinding {
  /** E.g. `image-alt`. */
  readonly rule: string;
  readonly impact: 'serious' | 'critical';
  readonly help: string;
  readonly count: number;
  /** Selectors of the first ones. */
  readonly elements: readonly string[];
}

/** What appeared on a page since the last look, and what went. */
export interface PageDifference {
  readonly since: string;
  /** Null where no change was found in what could be compared. */
  readonly is_same: boolean | null;
  /** Null where the pictures could not be compared. */
  readonly pixels: {
    readonly changed: number;
    readonly ratio: number;
    readonly areas: readonly {
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
    }[];
    readonly picture: PagePicture | null;
  } | null;
  /** Null where one of the looks has no outline. */
  readonly outline: { readonly appeared: readonly string[]; readonly gone: readonly string[] } | null;
  readonly console: { readonly appeared: readonly string[]; readonly gone: readonly string[] };
}
