/**
 * Paths that were opened from the address bar. The frame is of another origin: the browser hides
 * which links a person follows in it.
 */
export interface FrameHistory {
  readonly paths: readonly string[];
  /** Index of the current path. */
  readonly at: number;
}

export const START: FrameHistory = { paths: ['/'], at: 0 };

/** Maximum paths; the oldest is dropped. */
const MAX_PATHS = 100;

export function currentPath({ paths, at }: FrameHistory): string {
  return paths[at] ?? '/';
}

/** Opens a path: paths ahead of the current one are dropped, like in a browser. */
export function openPath({ paths, at }: FrameHistory, path: string): FrameHistory {
  const next = [...paths.slice(0, at + 1), path].slice(-MAX_PATHS);
  return { paths: next, at: next.length - 1 };
}

/** Goes back (negative) or forward, within what was opened. */
export function moveInHistory({ paths, at }: FrameHistory, steps: number): FrameHistory {
  return { paths, at: Math.min(paths.length - 1, Math.max(0, at + steps)) };
}

/**
 * Reads the text of an address bar: a path, or an address of the same preview. Undefined: it leads
 * elsewhere. Another origin must never load in the frame, which has the rights of the preview.
 */
export function readPath(text: string, previewUrl: string): string | undefined {
  const base = new URL('/', previewUrl);
  const typed = text.trim();
  const url = URL.parse(/^[a-z][a-z\d+.-]*:|^\//i.test(typed) ? typed : `/${typed}`, base.href);
  return url?.origin === base.origin ? `${url.pathname}${url.search}${url.hash}` : undefined;
}
