import type { CallOptions } from './files.ts';
import type { CheckPageRequest, PageLook } from '../api.ts';

export type {
  PageCause,
  PageCheck,
  PageLook,
  LookDifference as PageDifference,
} from '../api.ts';

/** Actions on a page before it is classified, in order. */
export type PageStep = NonNullable<CheckPageRequest['steps']>[number];

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

/** A rule of accessibility that elements of the page violate. */
export type AccessibilityFinding = NonNullable<PageLook['accessibility']>[number];
