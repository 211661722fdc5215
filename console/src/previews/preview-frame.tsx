import { type CSSProperties, useEffect, useId, useRef, useState } from 'react';
import { type Answer, ApiError, call } from '../api/client.ts';
import { type Device, frameBox, type Size } from './frame-size.ts';
import type { PreviewStatus } from './preview-labels.ts';

/** Consecutive failed polls after which an app that has served counts as unreachable, not busy. */
const AWAY_LOOKS = 2;
/** And this long without any server, in milliseconds: a restarting one reloads its page itself. */
const AWAY_MS = 3_000;

/**
 * When there is a frame, and which: `isShown` is false before the app first serves, when the reason
 * is shown as text; `loads` changes to load it again, since it may show an error page.
 * @param look changes with each poll of the app
 * @param isClosed nothing listens: not a server that is merely busy
 */
export function useFrameLoads(state: PreviewStatus['state'], look: unknown, isClosed: boolean) {
  const [frame, setFrame] = useState({ isShown: true, loads: 0 });
  const hasServed = useRef(false);
  const missed = useRef(0);
  const closedSince = useRef<number>(undefined);
  useEffect(() => {
    if (state === 'checking') return;
    if (state === 'not serving') {
      missed.current += 1;
      if (isClosed) closedSince.current ??= Date.now();
      if (!hasServed.current) setFrame(({ loads }) => ({ isShown: false, loads }));
      return;
    }
    const closedFor = closedSince.current === undefined ? 0 : Date.now() - closedSince.current;
    const wasAway = missed.current >= (hasServed.current ? AWAY_LOOKS : 1) || closedFor >= AWAY_MS;
    closedSince.current = undefined;
    hasServed.current = true;
    missed.current = 0;
    setFrame(({ loads }) => ({ isShown: true, loads: wasAway ? loads + 1 : loads }));
  }, [state, look, isClosed]);
  return frame;
}

/** Permissions of a page in the frame, on its own origin; it can never navigate the console. */
const SANDBOX = 'allow-scripts allow-forms allow-same-origin allow-popups allow-modals allow-downloads';

export interface PreviewFrameProps {
  readonly port: number;
  /** Session id of the preview. */
  readonly token: string;
  readonly address: string;
  /**
   * A frame that gets another address adds an entry to the history of the tab, so that the
   * browser's back button would leave the console's page last. A new element does not.
   */
  readonly load: string;
  readonly device: Device;
  readonly isRotated: boolean;
}

/** The app in a frame with the size of a device, scaled to its pane. */
export function PreviewFrame({ port, token, address, load, device, isRotated }: PreviewFrameProps) {
  const stage = useRef<HTMLDivElement>(null);
  const [space, setSpace] = useState<Size>({ width: 0, height: 0 });
  const [isVisible, setIsVisible] = useState(false);
  // Each load needs a ticket: a preview that is never shown makes none, and no visit.
  const [shown, setShown] = useState<{ readonly load: string; readonly address: string }>();
  if (isVisible && shown?.load !== load) setShown({ load, address });
  useEffect(() => {
    const element = stage.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = element;
      setIsVisible(width > 0);
      // A hidden pane has no size: its app keeps its own.
      if (width > 0) setSpace({ width, height });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const { width, height, scale } = frameBox(space, device, isRotated);
  const isPlain = device === 'fit';
  return (
    <div ref={stage} className={device === 'fit' ? 'stage' : 'stage device'}>
      <div
        className="sheet"
        style={isPlain ? {} : { width: `${width * scale}px`, height: `${height * scale}px` }}
      >
        {shown === undefined ? null : (
          <AppFrame
            key={shown.load}
            port={port}
            token={token}
            address={shown.address}
            style={
              isPlain ? {} : { width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` }
            }
          />
        )}
      </div>
    </div>
  );
}

interface AppFrameProps {
  readonly port: number;
  readonly token: string;
  readonly address: string;
  readonly style: CSSProperties;
}

/** A frame that has entered the preview first, if that is not open to everyone. */
function AppFrame({ port, token, address, style }: AppFrameProps) {
  const name = useId();
  const [entry, setEntry] = useState<Answer<'POST /api/open'>>();
  const [refusal, setRefusal] = useState<string>();
  useEffect(() => {
    const ended = new AbortController();
    call('POST /api/open', { body: { preview: token }, signal: ended.signal }).then(setEntry, (error) => {
      if (ended.signal.aborted) return;
      if (error instanceof ApiError && error.status === 403) setRefusal(error.message);
      // The preview itself says what is wrong.
      else setEntry({});
    });
    return () => ended.abort();
  }, [token]);
  useEffect(() => {
    if (entry?.ticket === undefined || entry.enter_url === undefined) return;
    const { pathname, search } = new URL(address);
    enterFrame(name, entry.enter_url, { ticket: entry.ticket, path: pathname + search });
  }, [name, entry, address]);
  if (refusal !== undefined) {
    return (
      <p className="reason" role="status">
        {refusal}
      </p>
    );
  }
  if (entry === undefined) return null;
  return (
    <iframe
      name={name}
      title={`What port ${port} shows`}
      src={entry.ticket === undefined ? address : undefined}
      referrerPolicy="no-referrer"
      sandbox={SANDBOX}
      loading="lazy"
      style={style}
    />
  );
}

/** A form: a ticket in an address would stay in the history and in logs. */
function enterFrame(target: string, action: string, fields: Readonly<Record<string, string>>): void {
  const form = Object.assign(document.createElement('form'), {
    method: 'post',
    action,
    target,
    hidden: true,
  });
  for (const [name, value] of Object.entries(fields)) {
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  }
  document.body.append(form);
  form.submit();
  form.remove();
}
