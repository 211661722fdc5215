import { useEffect, useRef, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { type Answer, call } from '../api/client.ts';
import { timeLeft } from '../live/clock.ts';
import { useIsOn } from '../live/person.ts';
import { usePageRights } from '../live/page-rights.ts';
import { formatMoment } from '../live/time-format.ts';
import { useAttempt, useNow, usePolled } from '../live/use-live.ts';
import { Button, Choice, Icon, Problem } from '../parts/elements.tsx';
import type { RunEvent } from '../runs/event-labels.ts';
import { AddressBar } from './address-bar.tsx';
import { currentPath, START } from './frame-history.ts';
import { type Device, DEVICES } from './frame-size.ts';
import { PageFindings } from './page-findings.tsx';
import { PreviewFrame, useFrameLoads } from './preview-frame.tsx';
import { lastLook, type PageCheck, previewStatus, STATE_LABELS } from './preview-labels.ts';
import { ResumeButton } from './resume-button.tsx';
import { SharePreview } from './share-preview.tsx';
import { type PortChanges, useDoctor } from './use-doctor.ts';

type Preview = Answer<'GET /api/runs/{id}/sandbox/port-forward'>[number];

interface LivePreviewProps {
  readonly run: Answer<'GET /api/runs/{id}'>;
  readonly preview: Preview;
  readonly ports: PortChanges;
  readonly events: readonly RunEvent[];
  /** Just started here, so it gets the focus. */
  readonly fresh: boolean;
  readonly onEnd: () => void;
}

const TONES = {
  works: 'good',
  broken: 'bad',
  serves: 'good',
  'not serving': 'busy',
  checking: 'off',
} as const;

/** The live app of a sandbox, in a frame that reveals nothing about the console. */
export function LivePreview({ run, preview, ports, events, fresh, onEnd }: LivePreviewProps) {
  const { session_id: token, target_port: port, preview_url: url } = preview;
  const { canWork } = usePageRights();
  const { busy, problem, attempt } = useAttempt();
  const article = useRef<HTMLElement>(null);
  const { expiry, problem: notKept } = useKeepalive(run.run_id, preview);
  const { value: found, problem: unseen } = useDoctor(run.run_id, ports, port);
  const look = lastLook(events, port);
  const { state, reason } = previewStatus(preview, found, unseen, look);
  const listener = found?.ports.find(({ listener: each }) => each !== null)?.listener;
  const { isShown, loads } = useFrameLoads(state, found, found !== undefined && listener === undefined);
  const [opened, setOpened] = useState({ history: START, count: 0 });
  const [device, setDevice] = useState<Device>('fit');
  const [isRotated, setIsRotated] = useState(false);
  const [isCheckShown, setIsCheckShown] = useState(false);
  const [check, setCheck] = useState<PageCheck>();
  const ends = useTimeLeft(expiry, preview.max_until);
  useEffect(() => {
    if (fresh) article.current?.focus();
  }, [fresh]);
  const stop = async () => {
    await call('DELETE /api/runs/{id}/sandbox/port-forward/{sessionId}', {
      path: { id: run.run_id, sessionId: token },
    });
    onEnd();
  };
  const path = currentPath(opened.history);
  const canCheck = useIsOn()('pages');
  const isChecked = state === 'works' || state === 'broken';
  return (
    <article ref={article} className="preview" aria-label={`Preview of port ${port}`} tabIndex={-1}>
      <header>
        {url === null ? null : (
          <AddressBar
            port={port}
            url={url}
            history={opened.history}
            onOpen={(history) => setOpened(({ count }) => ({ history, count: count + 1 }))}
          />
        )}
        {canCheck && (isChecked || state === 'serves') ? (
          <button
            type="button"
            className={`button state ${TONES[state]}`}
            aria-label={`Page check: ${STATE_LABELS[state]}`}
            aria-expanded={isCheckShown}
            title={
              state === 'serves' ? 'The server answers. Check the page to see whether it works.' : reason
            }
            onClick={() => setIsCheckShown(!isCheckShown)}
          >
            <span className="clamped">{state === 'broken' ? reason : STATE_LABELS[state]}</span>
          </button>
        ) : (
          <span className={`state ${TONES[state]}`} role="status">
            {STATE_LABELS[state]}
          </span>
        )}
        {ends === undefined ? null : <TimeRing {...ends} />}
        <div className="tools sizes">
          {url === null || !isShown ? null : (
            <>
              {device === 'fit' ? null : (
                <ToggleButton
                  className="button icon-button"
                  aria-label="Rotate"
                  isSelected={isRotated}
                  onChange={setIsRotated}
                >
                  <Icon name="rotate" />
                </ToggleButton>
              )}
              <Choice
                label="Size"
                value={device}
                options={Object.entries(DEVICES).map(([id, { words }]) => ({ id, words }))}
                onChange={(id) => setDevice(id as Device)}
              />
            </>
          )}
          {url === null ? null : (
            <SharePreview
              port={port}
              token={token}
              url={path === '/' ? url : new URL(path, url).href}
              ends={ends?.words}
              owner={run.owner}
              isOwn={run.access === 'owner'}
              onChange={() => setOpened(({ history, count }) => ({ history, count: count + 1 }))}
            />
          )}
          {canWork ? (
            <Button
              variant="danger"
              aria-label={`Stop the preview of port ${port}`}
              isDisabled={busy}
              onPress={() => void attempt(stop)}
            >
              <Icon name="stop" />
            </Button>
          ) : null}
        </div>
      </header>
      <Problem words={problem} onRetry={() => void attempt(stop)} />
      {notKept === undefined ? null : (
        <p className="reason" role="status">
          The preview is not kept alive: {notKept} Unless that changes, it ends when its time is over.
        </p>
      )}
      {reason === undefined || isChecked || state === 'serves' ? null : (
        <p className="reason" role="status">
          {reason}
          {preview.reason === 'sandbox_stopped' || found?.sandbox === 'stopped' ? (
            <ResumeButton sandboxId={run.sandbox_id} />
          ) : null}
        </p>
      )}
      {url === null ? (
        <LocalLink port={preview.local_port} />
      ) : isShown ? (
        <PreviewFrame
          port={port}
          token={token}
          address={new URL(path, url).href}
          load={`${loads} ${opened.count}`}
          device={device}
          isRotated={isRotated}
        />
      ) : null}
      {isCheckShown ? (
        <div className="drawer">
          <PageFindings
            runId={run.run_id}
            port={port}
            path={path}
            canCheck={found?.page_checks === true && url !== null}
            check={check}
            onCheck={setCheck}
            reason={reason}
            look={look}
          />
        </div>
      ) : null}
    </article>
  );
}

/** A preview without a gateway. */
function LocalLink({ port }: { readonly port: number }) {
  // A host that the console never uses: cookies ignore ports, so the app would receive the
  // console's.
  const host = `preview-${port}.localhost:${port}`;
  return (
    <p className="quiet">
      Previews have no links here. It listens on the machine of Porthole alone, at{' '}
      <a href={`http://${host}`} target="_blank" rel="noopener noreferrer">
        {host}
      </a>
      .
    </p>
  );
}

/** Expiry: it moves while the preview is visible, up to the maximum lifetime. */
function useTimeLeft(expiry: string | null, maxUntil: string | null) {
  const now = useNow();
  const longest = useRef(1);
  if (expiry === null) return undefined;
  const left = Math.max(0, Date.parse(expiry) - now);
  longest.current = Math.max(longest.current, left);
  const isLast = maxUntil !== null && Date.parse(expiry) >= Date.parse(maxUntil);
  const latest = maxUntil === null ? '' : ` It ends ${formatMoment(maxUntil)} at the latest.`;
  return {
    /** Of the time that a keepalive gives, 0 to 1. */
    share: left / longest.current,
    words: left === 0 ? 'has ended' : `${isLast ? 'ends for good' : 'ends'} in ${timeLeft(left)}`,
    title: isLast
      ? `This is the longest that a preview lasts: start it again afterwards.${latest}`
      : `It is kept alive while this page is visible.${latest}`,
    isShort: left < 60_000,
  };
}

/** The time left as a ring; in words for screen readers, and for everyone in the last minute. */
function TimeRing({ share, words, title, isShort }: NonNullable<ReturnType<typeof useTimeLeft>>) {
  return (
    <span className={isShort ? 'time-ring short' : 'time-ring'} title={`The preview ${words}. ${title}`}>
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="8" />
        <circle cx="10" cy="10" r="8" pathLength="100" strokeDasharray={`${share * 100} 100`} />
      </svg>
      <span className={isShort ? '' : 'hidden'}>{words}</span>
    </span>
  );
}

/** Interval of a visible preview's keepalives, and after one that failed, in milliseconds. */
const KEEPALIVE_MS = 60_000;
const AGAIN_MS = 10_000;

/**
 * Sends a keepalive every minute while the preview is visible.
 * @returns its expiry without another one, null: never; and why they fail, if they do
 */
export function useKeepalive(
  runId: string,
  { session_id: token, expires_at: notice, preview_url: url }: Preview,
) {
  const [expiry, setExpiry] = useState(notice);
  const { value: kept, problem } = usePolled(
    (signal) =>
      call('POST /api/runs/{id}/sandbox/preview/{token}/keepalive', { path: { id: runId, token }, signal }),
    url === null ? undefined : `${runId} ${token}`,
    KEEPALIVE_MS,
    AGAIN_MS,
  );
  useEffect(() => setExpiry(notice), [notice]);
  useEffect(() => {
    if (kept !== undefined) setExpiry(kept.expires_at);
  }, [kept]);
  return { expiry, problem };
}
