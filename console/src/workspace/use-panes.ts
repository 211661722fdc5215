import { useState, useSyncExternalStore } from 'react';
import { type KeptPanes, readPanes, type Shares } from './pane-layout.ts';

export type Mode = 'wide' | 'laptop' | 'phone';

/** Which panes a page has. */
export type WorkspaceKind = 'run' | 'sandbox';

/** All panes, each with its name. */
export const PANE_NAMES = {
  preview: 'Previews',
  terminal: 'Terminal',
  files: 'Files',
  network: 'Network',
  timeline: 'Timeline',
  inbox: 'Comments',
  details: 'Details',
} as const;
export type PaneId = keyof typeof PANE_NAMES;

/** The layout before the user changes it. */
const FIRST: Readonly<Record<WorkspaceKind, Readonly<Record<Mode, KeptPanes>>>> = {
  run: {
    wide: {
      hidden: ['network'],
      shares: { 'column:preview': 9, 'column:files': 7, 'column:timeline': 4, files: 5, terminal: 5 },
    },
    laptop: {
      hidden: ['files', 'network'],
      shares: { 'column:preview': 7, 'column:timeline': 3, preview: 6, terminal: 5 },
    },
    phone: { hidden: [], shares: {} },
  },
  sandbox: {
    wide: { hidden: ['network'], shares: { 'column:terminal': 5, 'column:files': 4, 'column:details': 3 } },
    // A terminal needs 40 columns also in a window of 800 pixels.
    laptop: { hidden: ['details', 'network'], shares: { 'column:terminal': 13, 'column:files': 7 } },
    phone: { hidden: [], shares: {} },
  },
};

const PHONE = matchMedia('(max-width: 680px)');
const WIDE = matchMedia('(min-width: 1500px)');

/** Which layout fits the window. */
export function useMode(): Mode {
  return useSyncExternalStore(onMode, () => (PHONE.matches ? 'phone' : WIDE.matches ? 'wide' : 'laptop'));
}

function onMode(listener: () => void): () => void {
  const ended = new AbortController();
  for (const query of [PHONE, WIDE]) query.addEventListener('change', listener, { signal: ended.signal });
  return () => ended.abort();
}

/** A preference, not a secret: stored in the browser. */
const addressOfPanes = (kind: WorkspaceKind, mode: Mode) => `porthole-panes-${kind}-${mode}`;

/** Hidden panes and sizes, remembered for each kind of window. */
export function useKeptPanes(kind: WorkspaceKind, mode: Mode) {
  const [kept, setKept] = useState<Partial<Record<Mode, KeptPanes>>>({});
  const now = kept[mode] ?? readPanes(localStorage.getItem(addressOfPanes(kind, mode))) ?? FIRST[kind][mode];
  const keep = (change: Partial<KeptPanes>) => {
    const next = { ...now, ...change };
    localStorage.setItem(addressOfPanes(kind, mode), JSON.stringify(next));
    setKept((before) => ({ ...before, [mode]: next }));
  };
  return {
    ...now,
    setHidden: (hidden: readonly string[]) => keep({ hidden }),
    setShares: (shares: Shares) => keep({ shares }),
  };
}
