import { Link } from 'wouter';
import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { addressOf, ApiError, call } from '../api/client.ts';
import { timeLeft } from '../live/clock.ts';
import { useAnswer, useAttempt, useEvents, useNow } from '../live/use-live.ts';
import { Button, Fact, Problem } from '../parts/elements.tsx';
import {
  askingRun,
  type Choice,
  choiceLabel,
  consequenceOf,
  decidedLabel,
  mayCover,
  POLICY_SCOPES,
  portOf,
  questionOf,
  type WaitingApproval,
  widestLabel,
} from './approval-labels.ts';
import { useArmedPress } from './use-armed.ts';

export interface ApprovalCardProps {
  readonly approval: WaitingApproval;
  /** All pending requests, including this one. */
  readonly waiting: readonly WaitingApproval[];
  /** Runs of this user are shown without the owner. */
  readonly user: string;
  /** Whether its buttons are enabled yet. */
  readonly armed: boolean;
  /** Whether the widest approval was pressed once, so that the next press confirms it. */
  readonly confirming: boolean;
  readonly onConfirming: (confirming: boolean) => void;
  /** A decision is pending that may end these requests; empty after it has failed. */
  readonly onDecide: (requestIds: readonly string[]) => void;
  /** These requests have ended; `words` is the notice. */
  readonly onEnd: (words: string, requestIds: readonly string[]) => void;
}

const THIS_CALL = [
  ['once', 'primary'],
  ['deny', 'danger'],
  ['never', 'danger'],
] as const;
const FURTHER = (Object.keys(POLICY_SCOPES) as (keyof typeof POLICY_SCOPES)[]).map(
  (scope) => [scope, 'normal'] as const,
);

/** While the card has the focus; shown on the buttons. */
const KEYS: Readonly<Partial<Record<string, Choice>>> = { a: 'once', d: 'deny' };

/** One request of an agent, its buttons and its keys. */
export function ApprovalCard({
  approval,
  waiting,
  user,
  armed,
  confirming,
  onConfirming,
  onDecide,
  onEnd,
}: ApprovalCardProps) {
  const now = useNow();
  const { busy, problem, attempt } = useAttempt();
  const whenArmed = useArmedPress(armed);
  const id = approval.request_id;
  const port = portOf(approval);
  const decide = async (choice: Choice) => {
    onDecide([id, ...mayCover(approval, choice, waiting).map((each) => each.request_id)]);
    try {
      const { also_approved: also } = await call('POST /api/runs/{id}/tool-approvals', {
        path: { id: approval.run_id },
        body: {
          request_id: id,
          ...(choice === 'deny' || choice === 'never'
            ? { decision: 'deny', scope: choice === 'never' ? 'always' : 'once' }
            : { decision: 'approve', scope: choice }),
        },
      });
      const beside = waiting.filter((each) => also.includes(each.request_id));
      onEnd(decidedLabel(approval, choice, user, beside), [id, ...also]);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'approval_decided') {
        onEnd('This was already decided, in another window or by someone else. Nothing has changed.', [id]);
      } else if (error instanceof ApiError && error.status === 404) {
        onEnd('That request is not there any more. Nothing has changed.', [id]);
      } else {
        onDecide([]);
        throw error;
      }
    }
  };
  const button = ([choice, variant]: (typeof THIS_CALL | typeof FURTHER)[number]) => {
    const words = choiceLabel(approval, choice, user);
    if (words === undefined) return null;
    const confirms = choice === 'always' && confirming;
    const key = Object.keys(KEYS).find((each) => KEYS[each] === choice);
    return (
      <Button
        key={choice}
        {...(key === undefined ? {} : { 'aria-keyshortcuts': key })}
        variant={confirms ? 'danger' : variant}
        aria-disabled={!armed}
        {...(confirms ? { 'aria-describedby': `further-${id}`, onBlur: () => onConfirming(false) } : {})}
        {...whenArmed(() => {
          if (busy) return;
          if (choice === 'always' && !confirming) onConfirming(true);
          else void attempt(() => decide(choice));
        })}
      >
        {confirms ? `Confirm: ${words.toLowerCase()}` : words}
        {key === undefined ? null : <kbd aria-hidden="true">{key.toUpperCase()}</kbd>}
      </Button>
    );
  };
  const left = Date.parse(approval.expires_at) - now;
  return (
    <article
      className="approval"
      aria-labelledby={`ask-${id}`}
      aria-describedby={`who-${id}`}
      aria-busy={busy}
      data-request={id}
      tabIndex={-1}
      onKeyDown={(event) => {
        const choice = KEYS[event.key];
        if (choice === undefined || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
        event.preventDefault();
        if (armed && !busy && !confirming) void attempt(() => decide(choice));
      }}
    >
      <header>
        <h3 id={`ask-${id}`}>{questionOf(approval)}</h3>
        <span
          className={`countdown ${left < 60_000 ? 'urgent' : ''}`}
          role="timer"
          title="Time left to decide"
        >
          {timeLeft(left)}
        </span>
      </header>
      <p className="quiet" id={`who-${id}`}>
        The agent of{' '}
        <Link href={`/runs/${encodeURIComponent(approval.run_id)}`}>
          <bdi>{askingRun(approval)}</bdi>
        </Link>
        {approval.owner === user ? null : <>, a run of {approval.owner},</>} asks. {consequenceOf(approval)}
      </p>
      {port === undefined ? null : <WhatListens runId={approval.run_id} port={port} />}
      <Problem words={problem} />
      <div className="decision" role="group" aria-label="Your decision" data-armed={armed && !busy}>
        <div className="actions">{THIS_CALL.map(button)}</div>
        <p className={confirming ? '' : 'quiet'} id={`further-${id}`} role="status">
          {confirming ? widestLabel(approval, user) : 'Approve without asking again:'}
        </p>
        <div className="actions further">{FURTHER.map(button)}</div>
      </div>
    </article>
  );
}

/** Poll interval in milliseconds, if no event reports changes. */
const ASK_MS = 60_000;

interface WhatListensProps {
  readonly runId: string;
  readonly port: number;
}

/**
 * What listens on the port, as inspected in the sandbox. Program and title are untrusted: marked as
 * such, and truncated.
 */
function WhatListens({ runId, port }: WhatListensProps) {
  const [seen, setSeen] = useState('');
  useEvents(addressOf('GET /api/runs/{id}/events', { id: runId }), ({ id, data: text }) => {
    const { type, data } = JSON.parse(text) as { type: string; data: Record<string, unknown> };
    if (type.startsWith('port.') && data['port'] === port) setSeen(id);
  });
  const { value, problem } = useAnswer(
    'GET /api/runs/{id}/sandbox/doctor',
    { path: { id: runId }, query: { port: String(port) } },
    ASK_MS,
    seen,
  );
  const found = value?.ports.find((each) => each.port === port);
  const program = plainText(found?.listener?.process?.command ?? '', 80);
  const title = plainText(found?.http.title ?? '', 60);
  return (
    <dl className="listens" aria-label={`What listens on port ${port}`}>
      <Fact name={`Port ${port}`}>
        {value === undefined
          ? (problem ?? 'Looking at what listens…')
          : plainText(found?.advice ?? value.advice, 240)}
      </Fact>
      {program === '' ? null : (
        <Fact name="Program">
          <code dir="ltr">{program}</code>
        </Fact>
      )}
      {title === '' ? null : (
        <Fact name="Its title">
          <bdi>“{title}”</bdi>
        </Fact>
      )}
    </dl>
  );
}
