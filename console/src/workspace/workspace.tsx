import { type ReactNode, useDeferredValue, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { Group, Panel, Separator } from 'react-resizable-panels';
import { Empty, Icon, Loading } from '../parts/elements.tsx';
import { ResumeButton } from '../previews/resume-button.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import './workspace.css';

/** All panes, each with its name. */
export const PANE_NAMES = {
  preview: 'Preview',
  terminal: 'Terminal',
  files: 'Files',
  logs: 'Logs',
  network: 'Network',
  inbox: 'Comments',
  details: 'Details',
  timeline: 'Timeline',
} as const;
export type PaneId = keyof typeof PANE_NAMES;

export const PHONE = matchMedia('(max-width: 680px)');

function onPhone(listener: () => void): () => void {
  PHONE.addEventListener('change', listener);
  return () => PHONE.removeEventListener('change', listener);
}

interface WorkspaceProps {
  /** The pane that the page is about: always visible, except on a phone. */
  readonly main: PaneId;
  /** The content of each pane, in the order of their buttons. The timeline is in a drawer. */
  readonly panes: Readonly<Partial<Record<PaneId, ReactNode>>>;
  /** The pane that is open at first, except on a phone. */
  readonly first?: PaneId;
  /** Numbers on buttons. */
  readonly counts?: Readonly<Partial<Record<PaneId, number>>>;
}

/**
 * One large pane, a panel with one of the others, and a drawer. The address has what is open.
 * Hidden panes stay mounted, from the first time they are shown: a terminal keeps its screen.
 */
export function Workspace({ main, panes, first, counts = {} }: WorkspaceProps) {
  const isPhone = useSyncExternalStore(onPhone, () => PHONE.matches);
  const [place, go] = usePlace();
  const panel = usePanel(main);
  const mounted = useRef(new Set<PaneId>());
  const ids = Object.keys(panes) as PaneId[];
  const tabs = ids.filter((id) => id !== main && id !== 'timeline');
  const hasDrawer = ids.includes('timeline') && (place.has('event') || place.get('drawer') === 'timeline');
  const asked = place.get('pane') ?? (place.has('file') ? 'files' : isPhone ? main : first);
  const open = isPhone && hasDrawer ? undefined : tabs.find((id) => id === asked);
  const isMainShown = !isPhone || (open === undefined && !hasDrawer);
  const isVisible = (id: PaneId) => (id === main ? isMainShown : id === 'timeline' ? hasDrawer : id === open);
  // After the press is painted: a pane takes longer to render than a press may.
  const shown = useDeferredValue(ids.filter(isVisible).join());
  for (const id of ids) if (shown.split(',').includes(id)) mounted.current.add(id);
  useEffect(() => {
    const shown = hasDrawer ? 'timeline' : (open ?? main);
    if (isPhone) document.getElementById(`show-${shown}`)?.scrollIntoView({ block: 'nearest' });
  }, [isPhone, hasDrawer, open, main]);
  const press = (id: PaneId) => {
    const closed = { drawer: undefined, event: undefined };
    if (id === 'timeline') go(hasDrawer ? closed : { drawer: 'timeline' });
    else go({ pane: id === open && !isPhone ? main : id, ...(isPhone ? closed : {}) });
  };
  const section = (id: PaneId) => (
    <section key={id} className="pane" data-pane={id} aria-labelledby={`pane-${id}`} hidden={!isVisible(id)}>
      <h2 id={`pane-${id}`} className="hidden" tabIndex={-1}>
        {PANE_NAMES[id]}
      </h2>
      {/* Focusable, so that the keyboard scrolls a pane that has nothing else to focus. */}
      <div className="pane-body" role="group" aria-labelledby={`pane-${id}`} tabIndex={0}>
        {mounted.current.has(id) ? panes[id] : null}
      </div>
    </section>
  );
  const button = (id: PaneId) => (
    <button
      key={id}
      id={`show-${id}`}
      type="button"
      className="button"
      aria-pressed={isVisible(id)}
      onClick={() => press(id)}
    >
      {PANE_NAMES[id]}
      {counts[id] === undefined ? null : <span className="count">{counts[id].toLocaleString()}</span>}
    </button>
  );
  return (
    <div className="workspace">
      <div className="workspace-row">
        <Group
          className="panels"
          orientation={panel.isSide ? 'horizontal' : 'vertical'}
          disabled={isPhone || open === undefined}
          defaultLayout={{ main: 100 - panel.size, panel: panel.size }}
          onLayoutChanged={({ panel: size = 0 }, { isUserInteraction }) => {
            if (isUserInteraction) panel.keep({ size });
          }}
          hidden={isPhone && hasDrawer}
        >
          <Panel id="main" minSize="15%" hidden={!isMainShown}>
            {section(main)}
          </Panel>
          {isPhone || open === undefined ? null : (
            <Separator
              className="divider"
              aria-label={`Between ${PANE_NAMES[main]} and ${PANE_NAMES[open]}`}
            />
          )}
          <Panel id="panel" minSize="15%" hidden={open === undefined}>
            {tabs.map(section)}
          </Panel>
        </Group>
        {ids.includes('timeline') ? section('timeline') : null}
      </div>
      <div className="pane-bar">
        <div role="group" aria-label="Panes">
          {(isPhone ? ids : [...tabs, ...ids.filter((id) => id === 'timeline')]).map(button)}
        </div>
        {isPhone || open === undefined ? null : (
          <div className="tools">
            <button
              type="button"
              className="button icon-button"
              aria-label={panel.isSide ? 'Panel at the bottom' : 'Panel at the side'}
              title={panel.isSide ? 'Panel at the bottom' : 'Panel at the side'}
              onClick={() => panel.keep({ isSide: !panel.isSide })}
            >
              <Icon name={panel.isSide ? 'bottom' : 'side'} />
            </button>
            <button
              type="button"
              className="button icon-button"
              aria-label={`Close ${PANE_NAMES[open]}`}
              title="Close the panel"
              onClick={() => {
                press(open);
                // The pressed button is gone with the panel.
                document.getElementById(`show-${open}`)?.focus();
              }}
            >
              <Icon name="close" />
            </button>
          </div>
        )}
      </div>
    </div>
  );
}

/** Share of the panel in percent. At the side, it is narrower: a terminal needs 40 columns. */
const SIZES = { bottom: 40, side: 35 };

/**
 * Where the panel of a page is, and its size. A preference, not a secret: stored in the browser, as
 * `side 35`.
 */
function usePanel(main: PaneId) {
  const key = `porthole-panel-${main}`;
  const [kept, setKept] = useState(() => {
    const [where, size] = (localStorage.getItem(key) ?? '').split(' ');
    const isSide = where === 'side' || (where !== 'bottom' && main === 'terminal');
    return { isSide, size: Number(size) || SIZES[isSide ? 'side' : 'bottom'] };
  });
  const keep = (change: Partial<typeof kept>) => {
    const next = { ...kept, ...change };
    localStorage.setItem(key, `${next.isSide ? 'side' : 'bottom'} ${Math.round(next.size)}`);
    setKept(next);
  };
  return { ...kept, keep };
}

interface AwayProps {
  readonly sandboxId: string;
  /** Undefined: not known yet. */
  readonly state: string | undefined;
}

/** In place of what only a running sandbox has. */
export function Away({ sandboxId, state }: AwayProps) {
  if (state === undefined) return <Loading />;
  if (state === 'deleted') return <Empty title="The sandbox was deleted, and its files with it" />;
  return (
    <Empty title={`The sandbox is ${state}`}>
      {state === 'stopped' ? (
        <>
          <p>Its files are kept.</p>
          <ResumeButton sandboxId={sandboxId} />
        </>
      ) : (
        <p>This pane fills once it runs.</p>
      )}
    </Empty>
  );
}
