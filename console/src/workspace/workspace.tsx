import { type CSSProperties, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Empty, Icon, Loading } from '../parts/elements.tsx';
import { ResumeButton } from '../previews/resume-button.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import {
  arrangePanes,
  type Box,
  type Columns,
  type Divider,
  MIN_PERCENT,
  MAX_PERCENT,
  moveDivider,
} from './pane-layout.ts';
import {
  type Mode,
  PANE_NAMES,
  type PaneId,
  useKeptPanes,
  useMode,
  type WorkspaceKind,
} from './use-panes.ts';
import './workspace.css';

interface WorkspaceProps {
  readonly kind: WorkspaceKind;
  /** The content of each pane, in the order of their buttons. */
  readonly panes: Readonly<Partial<Record<PaneId, ReactNode>>>;
  readonly columns: Readonly<Record<Exclude<Mode, 'phone'>, Columns>>;
}

/**
 * Panes that are resized, hidden and shown full screen. All are siblings, placed by coordinates: a
 * pane that moved to another parent would load its frame again and lose its terminal's screen.
 */
export function Workspace({ kind, panes: contents, columns }: WorkspaceProps) {
  const panes = Object.entries(contents).map(([id, content]) => {
    return { id, name: PANE_NAMES[id as PaneId], content };
  });
  const mode = useMode();
  const [place, go] = usePlace();
  const { hidden, shares, setHidden, setShares } = useKeptPanes(kind, mode);
  const [isDragging, setIsDragging] = useState(false);
  // Mounted from the first time they are shown: a terminal starts a shell.
  const mounted = useRef(new Set<string>());
  const area = useRef<HTMLDivElement>(null);
  const asked = panes.find(({ id }) => id === place.get('pane'))?.id;
  const isPhone = mode === 'phone';
  const alone = isPhone ? (asked ?? panes[0]?.id) : asked;
  useEffect(() => {
    if (isPhone) document.getElementById(`show-${alone}`)?.scrollIntoView({ block: 'nearest' });
  }, [isPhone, alone]);
  const isVisible = (id: string) => (alone === undefined ? !hidden.includes(id) : id === alone);
  const { boxes, dividers } = arrangePanes(columns[isPhone ? 'laptop' : mode], isVisible, shares);
  const nameOf = (key: string) => panes.find(({ id }) => id === key.replace('column:', ''))?.name ?? key;
  for (const { id } of panes) if (isVisible(id)) mounted.current.add(id);
  const show = (id: string, isShown: boolean) =>
    setHidden(isShown ? hidden.filter((each) => each !== id) : [...hidden, id]);
  const press = (id: string) => {
    if (isPhone) go({ pane: id });
    else if (alone === undefined) show(id, hidden.includes(id));
    else if (id === alone) go({ pane: undefined });
    else go({ pane: id });
  };
  return (
    <>
      <div className="pane-bar" role="group" aria-label="Panes">
        {panes.map(({ id, name }) => (
          <button
            key={id}
            id={`show-${id}`}
            type="button"
            className="button"
            aria-pressed={isVisible(id)}
            onClick={() => press(id)}
          >
            {name}
          </button>
        ))}
      </div>
      <div
        className="workspace"
        ref={area}
        data-mode={mode}
        data-dragging={isDragging || undefined}
        data-full={(!isPhone && alone !== undefined) || undefined}
      >
        {panes.map(({ id, name, content }) => (
          <section
            key={id}
            className="pane"
            data-pane={id}
            aria-labelledby={`pane-${id}`}
            hidden={!isVisible(id)}
            style={isPhone ? {} : styleOf(boxes.get(id))}
          >
            <div className="pane-head">
              <h2 id={`pane-${id}`} tabIndex={-1}>
                {name}
              </h2>
              {isPhone ? null : (
                <div className="tools">
                  <button
                    type="button"
                    className="button icon-button"
                    aria-label={`Full screen: ${name}`}
                    title={alone === id ? 'Leave full screen' : 'Full screen'}
                    aria-pressed={alone === id}
                    onClick={() => go({ pane: alone === id ? undefined : id })}
                  >
                    <Icon name={alone === id ? 'shrink' : 'expand'} />
                  </button>
                  <button
                    type="button"
                    className="button icon-button"
                    aria-label={`Hide ${name}`}
                    title="Hide"
                    onClick={() => {
                      show(id, false);
                      go({ pane: undefined });
                      // The pressed button is gone with its pane.
                      document.getElementById(`show-${id}`)?.focus();
                    }}
                  >
                    <Icon name="close" />
                  </button>
                </div>
              )}
            </div>
            {/* Focusable, so that the keyboard scrolls a pane that has nothing else to focus. */}
            <div className="pane-body" role="group" aria-labelledby={`pane-${id}`} tabIndex={0}>
              {mounted.current.has(id) ? content : null}
            </div>
          </section>
        ))}
        {isPhone
          ? null
          : dividers.map((divider) => (
              <DividerLine
                key={`${divider.before} ${divider.after}`}
                divider={divider}
                label={`Between ${nameOf(divider.before)} and ${nameOf(divider.after)}`}
                area={area}
                onDrag={setIsDragging}
                onMove={(value) => setShares(moveDivider(shares, divider, value))}
              />
            ))}
        {boxes.size > 0 ? null : (
          <p className="loading">All panes are hidden. The buttons above show them again.</p>
        )}
      </div>
    </>
  );
}

function styleOf(box: Box | undefined): CSSProperties {
  if (box === undefined) return {};
  return { left: `${box.left}%`, top: `${box.top}%`, width: `${box.width}%`, height: `${box.height}%` };
}

interface DividerLineProps {
  readonly divider: Divider;
  readonly label: string;
  readonly area: { readonly current: HTMLElement | null };
  readonly onDrag: (isDragging: boolean) => void;
  readonly onMove: (value: number) => void;
}

/** A focusable separator (WAI-ARIA window splitter): moved by pointer and by keys. */
function DividerLine({ divider, label, area, onDrag, onMove }: DividerLineProps) {
  const { box, space, isVertical, value } = divider;
  useEffect(() => () => onDrag(false), [onDrag]);
  const drag = (x: number, y: number) => {
    const whole = area.current?.getBoundingClientRect();
    if (whole === undefined) return;
    const at = isVertical ? (100 * (x - whole.left)) / whole.width : (100 * (y - whole.top)) / whole.height;
    onMove(isVertical ? (100 * (at - space.left)) / space.width : (100 * (at - space.top)) / space.height);
  };
  const press = (event: KeyboardEvent) => {
    const next = valueAfter(event.key, value, isVertical, event.shiftKey ? 10 : 2);
    if (next === undefined) return;
    event.preventDefault();
    onMove(next);
  };
  return (
    <div
      className="divider"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={isVertical ? 'vertical' : 'horizontal'}
      aria-valuemin={MIN_PERCENT}
      aria-valuemax={MAX_PERCENT}
      aria-valuenow={Math.round(value)}
      style={
        isVertical
          ? { left: `${box.left}%`, top: `${box.top}%`, height: `${box.height}%` }
          : { left: `${box.left}%`, top: `${box.top}%`, width: `${box.width}%` }
      }
      onKeyDown={press}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        onDrag(true);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event.clientX, event.clientY);
      }}
      onLostPointerCapture={() => onDrag(false)}
    />
  );
}

function valueAfter(key: string, value: number, isVertical: boolean, step: number): number | undefined {
  if (key === (isVertical ? 'ArrowLeft' : 'ArrowUp')) return value - step;
  if (key === (isVertical ? 'ArrowRight' : 'ArrowDown')) return value + step;
  if (key === 'Home') return MIN_PERCENT;
  return key === 'End' ? MAX_PERCENT : undefined;
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
