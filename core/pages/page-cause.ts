import { plainText } from '#base/plain-text.ts';
import type { PageFacts, SourcePlace } from './page-browser.ts';

/** Machine-readable kind of a fault. */
export type CauseKind =
  | 'not_reached'
  | 'gateway'
  | 'interrupted'
  | 'error_overlay'
  | 'document_status'
  | 'uncaught_error'
  | 'hydration'
  | 'script_failed'
  | 'wrong_type'
  | 'stylesheet_failed'
  | 'visitor_machine'
  | 'cors'
  | 'csp'
  | 'mixed_content'
  | 'request_failed'
  | 'socket_refused'
  | 'resource_failed'
  | 'blank'
  | 'zero_size'
  | 'hidden'
  | 'outside_view'
  | 'unreadable'
  | 'directory_listing'
  | 'source_shown'
  | 'error_text'
  | 'covered'
  | 'still_loading'
  | 'step_failed'
  | 'other_origin';

export interface PageCause {
  readonly kind: CauseKind;
  /** One sentence. */
  readonly message: string;
  readonly place: SourcePlace | null;
}

export interface PageResult {
  readonly result: 'works' | 'broken' | 'unclear';
  /** The most likely first. */
  readonly causes: readonly PageCause[];
  /** What failed without harm, a sentence each. */
  readonly notes?: readonly string[];
}

/** `src/main.tsx:3:16`, the format of editors and terminals. */
export function placeText({ file, line, column }: SourcePlace): string {
  return [file, line, line === null ? null : column].filter((part) => part !== null).join(':');
}

/** A cause, its rank (lower: more likely), and whether it is proof. */
export interface Ranked extends PageCause {
  readonly rank: number;
  readonly proof: boolean;
}

const MAX_MESSAGE_CHARS = 400;

export function cause(
  rank: number,
  kind: CauseKind,
  message: string,
  place: SourcePlace | null = null,
): Ranked {
  return { rank, kind, message: plainText(message, MAX_MESSAGE_CHARS), place, proof: true };
}

/** Not proof: the page may handle it. */
export function unsure(found: Ranked): Ranked {
  return { ...found, proof: false };
}

/** Whether a page shows too little to be what its app is for. */
export function isPoor({ textLength, media, controls }: PageFacts): boolean {
  return textLength < 80 && media === 0 && controls === 0;
}
