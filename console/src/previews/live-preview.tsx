import { useEffect, useRef, useState } from 'react';
import { Dialog, DialogTrigger, Popover } from 'react-aria-components';
import { renderSVG } from 'uqr';
import { type Answer, call } from '../api/client.ts';
import { timeLeft } from '../live/time-words.ts';
import { problemOf, useAnswer, useNow, useVisible } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { Icon } from '../parts/icon.tsx';

type Preview = Answer<'GET /api/runs/{id}/sandbox/port-forward'>[number];

export interface LivePreviewProps {
  readonly runId: string;
  readonly preview: Preview;
  readonly onEnd: () => void;
}

/** How often a preview that somebody sees says so. */
const KEEPALIVE_MS = 60_000;
/** What a page in the frame may do, on its own origin; never lead the console elsewhere. */
const SANDBOX = 'allow-scripts allow-forms allow-same-origin allow-popups allow-modals allow-downloads';

/** The app of a sandbox as it is now, in a frame that is told nothing of the console. */
export function LivePreview({ runId, preview, onEnd }: LivePreviewProps) {
  const { session_id: token, target_port: port, preview_url: url } = preview;
  const now = useNow();
  const [expiry, setExpiry] = useState(preview.expires_at);
  const [problem, setProblem] = useState<string>();
  const [copied, setCopied] = useState(false);
  const [loads, setLoads] = useState(0);
  useEffect(() => setExpiry(preview.expires_at), [preview.expires_at]);
  useKeepalive(runId, token, setExpiry, url !== null);
  const { value: found } = useAnswer(
    'GET /api/runs/{id}/sandbox/doctor',
    { path: { id: runId }, query: { port: String(port) } },
    10_000,
  );
  const finding = found?.ports.find((each) => each.port === port);
  const ready = finding?.ready === true;
  const reason =
    preview.reason === 'sandbox_stopped' ? 'The sandbox is stopped: resume it.' : finding?.advice;
  const didNotServe = useRef(false);
  useEffect(() => {
    // What was shown while it did not serve is a page about that.
    if (ready && didNotServe.current) setLoads((count) => count + 1);
    if (finding !== undefined) didNotServe.current = !ready;
  }, [ready, finding]);
  const stop = async () => {
    try {
      await call('DELETE /api/runs/{id}/sandbox/port-forward/{sessionId}', {
        path: { id: runId, sessionId: token },
      });
      onEnd();
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  const copy = async () => {
    if (url === null) return;
    await navigator.clipboard.writeText(url);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <article className="preview" aria-label={`Preview of port ${port}`}>
      <header>
        <h3>
          :{port}{' '}
          <span className={`state ${ready ? 'good' : 'busy'}`}>{ready ? 'serves' : 'not serving'}</span>
        </h3>
        <span className="quiet" title="It ends then, unless somebody looks at it">
          {expiry === null ? null : `ends in ${timeLeft(Date.parse(expiry) - now)}`}
        </span>
        {url === null ? null : (
          <div className="tools">
            <a className="button primary" href={url} target="_blank" rel="noopener noreferrer">
              <Icon name="external" /> Open preview
            </a>
            <Button onPress={() => void copy().catch((error: unknown) => setProblem(problemOf(error)))}>
              <Icon name="copy" /> {copied ? 'Copied' : 'Copy link'}
            </Button>
            <DialogTrigger>
              <Button>
                <Icon name="qr" /> QR code
              </Button>
              <Popover className="popover">
                <Dialog aria-label="QR code of the preview">
                  <QrCode text={url} />
                </Dialog>
              </Popover>
            </DialogTrigger>
            <Button variant="danger" onPress={() => void stop()}>
              <Icon name="stop" /> Stop
            </Button>
          </div>
        )}
      </header>
      {problem === undefined ? null : <Problem words={problem} />}
      {ready || reason === undefined ? null : (
        <p className="reason" role="status">
          {reason}
        </p>
      )}
      {url === null ? (
        <p className="quiet">It listens on this machine alone, at 127.0.0.1:{preview.local_port}.</p>
      ) : (
        <iframe
          key={loads}
          title={`What port ${port} shows`}
          src={url}
          referrerPolicy="no-referrer"
          sandbox={SANDBOX}
          loading="lazy"
        />
      )}
    </article>
  );
}

/** Says every minute that somebody looks, while somebody does. */
function useKeepalive(
  runId: string,
  token: string,
  onExpiry: (at: string | null) => void,
  wanted: boolean,
): void {
  const visible = useVisible();
  const listener = useRef(onExpiry);
  listener.current = onExpiry;
  useEffect(() => {
    if (!visible || !wanted) return undefined;
    const keep = () =>
      void call('POST /api/runs/{id}/sandbox/preview/{token}/keepalive', { path: { id: runId, token } }).then(
        ({ expires_at: at }) => listener.current(at),
        // It has ended: the list says so.
        () => undefined,
      );
    keep();
    const timer = setInterval(keep, KEEPALIVE_MS);
    return () => clearInterval(timer);
  }, [runId, token, visible, wanted]);
}

function QrCode({ text }: { readonly text: string }) {
  const source = `data:image/svg+xml,${encodeURIComponent(renderSVG(text, { border: 2 }))}`;
  return (
    <img className="qr" src={source} alt="The address of the preview as a QR code" width={220} height={220} />
  );
}
