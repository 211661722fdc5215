import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { Button, Icon, Problem } from '../parts/elements.tsx';
import { useAttempt } from '../live/use-live.ts';
import type { RunEvent } from '../runs/event-labels.ts';
import { usePlace } from '../sandboxes/use-place.ts';
import { findingsComment, lookFindings, type PageCheck } from './preview-labels.ts';

interface PageFindingsProps {
  readonly runId: string;
  readonly port: number;
  /** The path that the address bar shows. */
  readonly path: string;
  /** False: no browser is installed where Porthole runs, or the preview has no address. */
  readonly canCheck: boolean;
  /** The last check that was made here. */
  readonly check: PageCheck | undefined;
  readonly onCheck: (check: PageCheck) => void;
  /** What is wrong, if another person or an agent looked at the page. */
  readonly reason: string | undefined;
  /** The last check of the port's page, by anyone. */
  readonly look: RunEvent | undefined;
}

/** What a browser found on the page: causes, console messages and failed requests. */
export function PageFindings({
  runId,
  port,
  path,
  canCheck,
  check,
  onCheck,
  reason,
  look,
}: PageFindingsProps) {
  const { busy, problem, attempt } = useAttempt();
  const { canWork, why } = usePageRights();
  const isOutdated =
    check !== undefined &&
    look?.data['path'] === check.url.replace(/[?#].*/, '') &&
    look.data['result'] !== check.result;
  const current = isOutdated ? undefined : check;
  const findings = current ?? (look && lookFindings(look));
  const shown = current?.url ?? String(look?.data['path'] ?? path);
  const run = () =>
    attempt(async () =>
      onCheck(
        await call('POST /api/runs/{id}/previews/{port}/check', {
          path: { id: runId, port: String(port) },
          // The part behind # stays in the browser.
          body: { path: path.replace(/#.*/, '') },
        }),
      ),
    );
  return (
    <div className="findings">
      <div className="section-head">
        <p className="quiet">
          {!canWork
            ? why
            : canCheck
              ? check === undefined
                ? 'Porthole opens the page in its own browser and reports what fails.'
                : `${plainText(check.url, 200)} answered ${check.status ?? 'nothing'}${
                    check.timings.load_ms === null
                      ? ''
                      : ` and loaded in ${Math.round(check.timings.load_ms)} ms`
                  }.`
              : 'Pages can’t be checked: no browser is installed where Porthole runs. Ask your administrator.'}
        </p>
        {canCheck && canWork ? (
          <Button isDisabled={busy} onPress={() => void run()}>
            <Icon name="check" /> {busy ? 'Checking…' : check === undefined ? 'Check page' : 'Check again'}
          </Button>
        ) : null}
      </div>
      <Problem words={problem} onRetry={() => void run()} />
      {isOutdated ? <p role="status">The page has changed since. {reason ?? 'It works now.'}</p> : null}
      {!canWork || findings === undefined || findings.causes.length === 0 ? null : (
        <SendFindings
          key={`${findings.result} ${findings.causes[0]?.message}`}
          runId={runId}
          text={findingsComment({ port, path: shown }, findings)}
        />
      )}
      {check === undefined ? reason === undefined ? null : <p>{reason}</p> : <Report check={check} />}
    </div>
  );
}

/** Sends what a check found to the agent: text from the API, never from the page in the frame. */
function SendFindings({ runId, text }: { readonly runId: string; readonly text: string }) {
  const { busy, problem, attempt } = useAttempt();
  const [isSent, setIsSent] = useState(false);
  const send = () =>
    attempt(async () => {
      await call('POST /api/runs/{id}/inbox', { path: { id: runId }, body: { text } });
      setIsSent(true);
    });
  return (
    <div>
      {isSent ? (
        <p role="status">Sent to the agent, with the comments of this run.</p>
      ) : (
        <Button isDisabled={busy} onPress={() => void send()}>
          {busy ? 'Sending…' : 'Send to the agent'}
        </Button>
      )}
      <Problem words={problem} onRetry={() => void send()} />
    </div>
  );
}

function Report({ check }: { readonly check: PageCheck }) {
  const { causes, console: messages, failed_requests: requests } = check;
  return (
    <>
      <FindingList title="What is wrong" isEmpty={causes.length === 0} none="Nothing: the page works.">
        {causes.map(({ kind, message, ...place }, at) => (
          <li key={`${at} ${kind}`} className="bad">
            {plainText(message, 500)} <SourceLink {...place} />
          </li>
        ))}
      </FindingList>
      <FindingList title="Console" isEmpty={messages.length === 0} none="No messages.">
        {messages.map(({ level, text, ...place }, at) => (
          <li
            key={`${at} ${level}`}
            className={level === 'error' ? 'bad' : level === 'warning' ? 'busy' : ''}
          >
            <span className="tag">{level}</span> <code>{plainText(text, 500)}</code> <SourceLink {...place} />
          </li>
        ))}
      </FindingList>
      <FindingList title="Failed requests" isEmpty={requests.length === 0} none="No request failed.">
        {requests.map(({ method, url, status, detail, initiator }, at) => (
          <li key={`${at} ${url}`} className="bad">
            <span className="tag">{status ?? 'failed'}</span>{' '}
            <code>
              {plainText(method, 20)} {plainText(url, 300)}
            </code>{' '}
            <span className="quiet">{plainText(detail, 300)}</span>{' '}
            {initiator === null ? null : <SourceLink {...initiator} />}
          </li>
        ))}
      </FindingList>
    </>
  );
}

interface FindingListProps {
  readonly title: string;
  readonly isEmpty: boolean;
  readonly none: string;
  readonly children: React.ReactNode;
}

function FindingList({ title, isEmpty, none, children }: FindingListProps) {
  return (
    <section>
      <h4>{title}</h4>
      {isEmpty ? <p className="quiet">{none}</p> : <ul>{children}</ul>}
    </section>
  );
}

/** Leads to the file in the files pane. */
function SourceLink({ file, line }: { readonly file: string | null; readonly line: number | null }) {
  const [, go] = usePlace();
  if (file === null) return null;
  const name = plainText(file, 200);
  const path = file.startsWith('/') ? file : `/workspace/${file}`;
  return (
    <button
      type="button"
      className="button plain"
      onClick={() => go({ pane: 'files', file: path, line: line === null ? undefined : String(line) }, true)}
    >
      <code>{line === null ? name : `${name}:${line}`}</code>
    </button>
  );
}
