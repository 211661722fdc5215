import { type FocusEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { serverNow } from '../live/clock.ts';
import { notificationState, onNotifications, switchNotifications } from '../live/notifications.ts';
import { useWindowEvent } from '../live/use-live.ts';
import { Button, Icon } from '../parts/elements.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { askingRun, endedLabel, questionOf, type WaitingApproval } from './approval-labels.ts';
import './approvals.css';
import type { Approvals } from './use-approvals.ts';
import { useArmed } from './use-armed.ts';

interface ApprovalDockProps extends Pick<Approvals, 'waiting' | 'forget'> {
  readonly user: string;
}

/** How long the outcome of a request is shown, in milliseconds. */
const NOTICE_MS = 10_000;
/** Moves the focus to the pending requests and back. */
const KEY = 'F8';

/**
 * Pending approvals, one at a time, above every page. It never takes the focus: it is announced,
 * and `F8` moves to it. It is above dialogs and usable from within them.
 */
export function ApprovalDock({ waiting, forget, user }: ApprovalDockProps) {
  const dock = useRef<HTMLElement>(null);
  const [folded, setFolded] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const { words: notice, announce } = useNotice();
  /** By request, the requests that its decision here may have ended. */
  const decided = useRef(new Map<string, readonly string[]>());
  const at = Math.max(
    0,
    waiting.findIndex(({ request_id: id }) => id === chosen),
  );
  const current = folded ? undefined : waiting[at];
  const id = current?.request_id;
  const [confirming, setConfirming] = useState<string>();
  const armed = useArmed(dock, [id, confirming].join());
  const change = useChange(waiting, decided.current, announce, () => setFolded(false));
  const leave = useFocusOf(dock, waiting);
  const count = waiting.length;
  const show = (next: number) => setChosen(waiting[(next + count) % count]?.request_id);
  return (
    <div data-react-aria-top-layer="true">
      <p className="hidden" role="status">
        {notice ?? change}
      </p>
      {count === 0 && notice === undefined ? null : (
        <section
          ref={dock}
          className="dock"
          aria-label="Waiting for your decision"
          aria-keyshortcuts={KEY}
          {...leave}
        >
          {count === 0 ? null : (
            <header className="dock-head">
              <h2>
                {current === undefined
                  ? `${count} ${count === 1 ? 'request waits' : 'requests wait'}`
                  : `${at + 1} of ${count}`}
              </h2>
              {current === undefined || count === 1 ? null : (
                <>
                  <Button className="icon-button" aria-label="Request before" onPress={() => show(at - 1)}>
                    <Icon name="back" />
                  </Button>
                  <Button className="icon-button" aria-label="Next request" onPress={() => show(at + 1)}>
                    <Icon name="forward" />
                  </Button>
                </>
              )}
              <kbd title="Leads here, and back">{KEY}</kbd>
              <NotifyMeButton />
              <Button variant="plain" aria-expanded={!folded} onPress={() => setFolded(!folded)}>
                {folded ? 'Show' : 'Hide'}
              </Button>
            </header>
          )}
          {current === undefined || id === undefined ? null : (
            <ApprovalCard
              key={id}
              approval={current}
              waiting={waiting}
              user={user}
              armed={armed}
              confirming={confirming === id}
              onConfirming={(on) => setConfirming(on ? id : undefined)}
              onDecide={(ids) => decided.current.set(id, ids)}
              onEnd={(words, ids) => {
                decided.current.set(id, ids);
                announce(words);
                ids.forEach(forget);
              }}
            />
          )}
          {notice === undefined ? null : <p className="notice">{notice}</p>}
        </section>
      )}
    </div>
  );
}

/** The latest outcome of a request, shown for a limited time. */
function useNotice() {
  const [words, setWords] = useState<string>();
  useEffect(() => {
    if (words === undefined) return undefined;
    const timer = setTimeout(() => setWords(undefined), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  return { words, announce: setWords };
}

/**
 * The announcement of new requests for screen readers; also reports requests that ended without a
 * decision here.
 */
function useChange(
  waiting: readonly WaitingApproval[],
  decidedHere: ReadonlyMap<string, readonly string[]>,
  announce: (words: string) => void,
  onBegin: () => void,
): string | undefined {
  const [change, setChange] = useState<string>();
  const known = useRef<readonly WaitingApproval[]>([]);
  useEffect(() => {
    const before = known.current;
    known.current = waiting;
    const isIn = (list: readonly WaitingApproval[], { request_id: id }: WaitingApproval) =>
      list.some((each) => each.request_id === id);
    const begun = waiting.filter((each) => !isIn(before, each));
    const here = new Set([...decidedHere.values()].flat());
    const ended = before.find((each) => !isIn(waiting, each) && !here.has(each.request_id));
    if (ended !== undefined) announce(endedLabel(ended, serverNow()));
    const [first] = begun;
    if (first !== undefined) {
      setChange(`The agent of ${askingRun(first)} asks: ${questionOf(first)} Press ${KEY} to decide.`);
      onBegin();
    } else if (waiting.length === 0) setChange(undefined);
  }, [waiting, decidedHere, announce, onBegin]);
  return change;
}

/**
 * Moves the keyboard focus to the dock and back, and restores it when the focused element
 * disappears.
 */
function useFocusOf(dock: { readonly current: HTMLElement | null }, waiting: readonly WaitingApproval[]) {
  const cameFrom = useRef<HTMLElement | null>(null);
  const within = useRef(false);
  const some = waiting.length > 0;
  const toCard = () => {
    const target =
      dock.current?.querySelector<HTMLElement>('.approval') ??
      dock.current?.querySelector<HTMLElement>('button');
    target?.focus();
    return target != null;
  };
  const back = () => {
    within.current = false;
    const target =
      cameFrom.current?.isConnected === true ? cameFrom.current : document.getElementById('page');
    target?.focus();
  };
  useWindowEvent(
    'keydown',
    (event) => {
      if (!some || event.key !== KEY || event.repeat) return;
      event.preventDefault();
      event.stopPropagation();
      if (dock.current?.contains(document.activeElement) === true) back();
      else toCard();
    },
    // Also from a terminal, which receives all other keys.
    { capture: true },
  );
  useEffect(() => {
    // The focused card was removed.
    if (!within.current || dock.current?.contains(document.activeElement) === true) return;
    if (document.activeElement !== null && document.activeElement !== document.body) {
      within.current = false;
    } else if (!some || !toCard()) back();
  }, [waiting]);
  return {
    onFocus: ({ relatedTarget, currentTarget }: FocusEvent) => {
      if (relatedTarget instanceof HTMLElement && !currentTarget.contains(relatedTarget)) {
        cameFrom.current = relatedTarget;
      }
      within.current = true;
    },
    onBlur: ({ relatedTarget, currentTarget, target }: FocusEvent) => {
      if (relatedTarget instanceof Node) within.current = currentTarget.contains(relatedTarget);
      // A press elsewhere: the blurred element still exists then.
      else setTimeout(() => (within.current &&= !target.isConnected));
    },
  };
}

/** Not shown if the browser has been asked before. */
function NotifyMeButton() {
  const state = useSyncExternalStore(onNotifications, notificationState);
  if (state !== 'off' || Notification.permission !== 'default') return null;
  return (
    <Button variant="plain" onPress={() => void switchNotifications(true)}>
      Notify me
    </Button>
  );
}
