import { useEffect, useRef, useState } from 'react';
import { type Answer, call } from '../api/client.ts';
import { timeLeft } from '../live/clock.ts';
import { useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/controls.tsx';
import { Problem } from '../parts/feedback.tsx';
import { useAttempt } from '../parts/use-attempt.ts';
import type { RunEvent } from '../runs/event-labels.ts';
import { lastLook, type PreviewStatus, previewStatus } from './preview-labels.ts';
import { ResumeButton } from './resume-button.tsx';
import { SharePreview } from './share-preview.tsx';
import { type PortChanges, useDoctor } from './use-doctor.ts';
import { useKeepalive } from './use-keepalive.ts';

/**
 * Looks in a row that find nothing before an app that has served counts as away, and not as busy.
 */
const AWAY_LOOKS = 2;
/**
 * And so long without any server, in milliseconds: one that restarts brings its page back by
 * itself.
 */
const AWAY_MS = 3_000;

interface Frame {
  /** No frame before the app first serves: the reason is shown as text. */
  readonly isShown: boolean;
  /**
   * Another number when it is to be loaded again: the user asked, or the app was unreachable and
   * the frame may show an error page.
   */
  readonly loads: number;
  /** Reloads the start page: a page cannot read or keep the location of a cross-origin frame. */
  readonly reload: () => void;
}

/**
 * @param look another object for each look at the app
 * @param isClosed nothing listens: not a server that is merely busy
 */
function useFrame(state: PreviewStatus['state'], look: unknown, isClosed: boolean): Frame {
  const [frame, setFrame] = useState<Omit<Frame, 'reload'>>({ isShown: true, loads: 0 });
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
  const reload = () => setFrame(({ isShown, loads }) => ({ isShown, loads: loads + 1 }));
  return { ...frame, reload };
}

type Preview = Answer<'GET /api/runs/{id}/sandbox/port-forward'>[number];

interface LivePreviewProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  readonly preview: Preview;
  readonly ports: PortChanges;
  readonly events: readonly RunEvent[];
  /** It was just started here, so it is shown first. */
  readonly fresh: boolean;
  readonly onEnd: () => void;
}

/** What a page in the frame may do, on its own origin; never lead the console elsewhere. */
const SANDBOX = 'allow-scripts allow-forms allow-same-origin allow-popups allow-modals allow-downloads';
const TONES = {
  works: 'good',
  broken: 'bad',
  serves: 'good',
  'not serving': 'busy',
  checking: 'off',
} as const;

/** The live app of a sandbox, in a frame that learns nothing about the console. */
export function LivePreview({ run, preview, ports, events, fresh, onEnd }: LivePreviewProps) {
  const { session_id: token, target_port: port, preview_url: url, local_port: localPort } = preview;
  // A host that the console is never at: cookies know no ports, so the app would get the console's.
  const localHost = `preview-${localPort}.localhost:${localPort}`;
  const { busy, problem, attempt } = useAttempt();
  const article = useRef<HTMLElement>(null);
  const { expiry, problem: notKept } = useKeepalive(run.run_id, preview);
  const { value: found, problem: unseen } = useDoctor(run.run_id, ports, port);
  const { state, reason } = previewStatus(preview, found, unseen, lastLook(events, port));
  const { isShown, loads, reload } = useFrame(
    state,
    found,
    found?.ports.some(({ listener }) => listener !== null) === false,
  );
  useEffect(() => {
    if (fresh) article.current?.focus();
  }, [fresh]);
  const stop = async () => {
    await call('DELETE /api/runs/{id}/sandbox/port-forward/{sessionId}', {
      path: { id: run.run_id, sessionId: token },
    });
    onEnd();
  };
  const isStopped = preview.reason === 'sandbox_stopped' || found?.sandbox === 'stopped';
  return (
    <article ref={article} className="preview" aria-label={`Preview of port ${port}`} tabIndex={-1}>
      <header>
        <h3>
          :{port} <span className={`state ${TONES[state]}`}>{state}</span>
        </h3>
        <TimeLeft expiry={expiry} maxUntil={preview.max_until} />
        <div className="tools">
          {url === null || !isShown ? null : (
            <Button aria-label="Reload" onPress={reload}>
              <Icon name="reload" />
            </Button>
          )}
          {url === null || found?.page_checks !== true || state === 'not serving' ? null : (
            <CheckPage runId={run.run_id} port={port} />
          )}
          {url === null ? null : <SharePreview url={url} serves={state !== 'not serving'} />}
          <Button variant="danger" isDisabled={busy} onPress={() => void attempt(stop)}>
            <Icon name="stop" /> Stop
          </Button>
        </div>
      </header>
      {problem === undefined ? null : <Problem words={problem} />}
      {notKept === undefined ? null : (
        <p className="reason" role="status">
          It is not kept alive: {notKept} Unless that changes, it ends when its time is over.
        </p>
      )}
      {reason === undefined ? null : (
        <p className="reason" role="status">
          {reason}
          {isStopped ? <ResumeButton sandboxId={run.sandbox_id} /> : null}
        </p>
      )}
      {url === null ? (
        <p className="quiet">
          Previews have no links here. It listens on the machine of Porthole alone, at{' '}
          <a href={`http://${localHost}`} target="_blank" rel="noopener noreferrer">
            {localHost}
          </a>
          .
        </p>
      ) : isShown ? (
        <iframe
          key={loads}
          title={`What port ${port} shows`}
          src={url}
          referrerPolicy="no-referrer"
          sandbox={SANDBOX}
          loading="lazy"
        />
      ) : null}
    </article>
  );
}

interface TimeLeftProps {
  readonly expiry: string | null;
  readonly maxUntil: string | null;
}

/** Expiry: it moves while the preview is visible, up to the maximum lifetime. */
function TimeLeft({ expiry, maxUntil }: TimeLeftProps) {
  const now = useNow();
  if (expiry === null) return null;
  const left = Date.parse(expiry) - now;
  const isLast = maxUntil !== null && Date.parse(expiry) >= Date.parse(maxUntil);
  const latest = maxUntil === null ? '' : ` It ends ${new Date(maxUntil).toLocaleString()} at the latest.`;
  return (
    <span
      className="quiet"
      title={
        isLast
          ? `Its longest life is over then: start it again.${latest}`
          : `It is kept alive while this page is seen.${latest}`
      }
    >
      {left <= 0 ? 'has ended' : `${isLast ? 'ends for good' : 'ends'} in ${timeLeft(left)}`}
    </span>
  );
}

interface CheckPageProps {
  readonly runId: string;
  readonly port: number;
}

/**
 * Checks the page of a preview in the browser of Porthole. The result is an event of the run, so
 * that everyone who watches sees it, and a check by the agent shows in the same place.
 */
function CheckPage({ runId, port }: CheckPageProps) {
  const { busy, problem, attempt } = useAttempt();
  const check = () =>
    call('POST /api/runs/{id}/previews/{port}/check', {
      path: { id: runId, port: String(port) },
      body: {},
    });
  return (
    <>
      <Button isDisabled={busy} onPress={() => void attempt(check)}>
        <Icon name="check" /> {busy ? 'Checking…' : 'Check page'}
      </Button>
      {problem === undefined ? null : <span role="alert">{problem}</span>}
    </>
  );
}
