import { useRef, useState } from 'react';
import { Link } from 'wouter';
import { ApiError, call } from '../api/client.ts';
import { timeLeft } from '../live/time-words.ts';
import { useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import {
  type Choice,
  consequenceOf,
  decidedWords,
  portOf,
  questionOf,
  runName,
  type WaitingApproval,
} from './approval-words.ts';
import { WhatListens } from './what-listens.tsx';

export interface ApprovalCardProps {
  readonly approval: WaitingApproval;
  /** Whose runs need no name. */
  readonly user: string;
  /** Whether it may be pressed yet. */
  readonly armed: boolean;
  /** Somebody decides here; undefined: that failed, and it waits on. */
  readonly onDecide: (choice: Choice | undefined) => void;
  /** It waits no more; what to tell about that. */
  readonly onEnd: (words: string) => void;
}

const CHOICES = [
  ['once', 'Approve once', 'primary'],
  ['run', 'For this run', 'normal'],
  ['always', 'Always', 'normal'],
  ['deny', 'Deny', 'danger'],
] as const;

/** One question of an agent, and the answers to it. */
export function ApprovalCard({ approval, user, armed, onDecide, onEnd }: ApprovalCardProps) {
  const now = useNow();
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const begunArmed = useRef(false);
  const id = approval.request_id;
  const port = portOf(approval);
  const decide = async (choice: Choice) => {
    setBusy(true);
    onDecide(choice);
    setProblem(undefined);
    try {
      await call('POST /api/runs/{id}/tool-approvals', {
        path: { id: approval.run_id },
        body: {
          request_id: id,
          ...(choice === 'deny' ? { decision: 'deny' } : { decision: 'approve', scope: choice }),
        },
      });
      onEnd(decidedWords(approval, choice));
    } catch (error) {
      if (error instanceof ApiError && error.code === 'approval_decided') {
        onEnd('That was decided already, in another window or by somebody else. Nothing has changed.');
      } else if (error instanceof ApiError && error.status === 404) {
        onEnd('That request is not there any more. Nothing has changed.');
      } else {
        setProblem(
          error instanceof ApiError
            ? error.message
            : 'Porthole cannot be reached right now. Decide again in a moment.',
        );
        setBusy(false);
        onDecide(undefined);
      }
    }
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
          <bdi>{runName(approval)}</bdi>
        </Link>
        {approval.owner === user ? null : <>, a run of {approval.owner},</>} asks. {consequenceOf(approval)}
      </p>
      {port === undefined ? null : <WhatListens runId={approval.run_id} port={port} />}
      {problem === undefined ? null : <Problem words={problem} />}
      <div className="actions" role="group" aria-label="Your decision" data-armed={armed && !busy}>
        {CHOICES.map(([choice, words, variant]) => (
          <Button
            key={choice}
            variant={variant}
            // The press counts from where it began.
            onPressStart={() => {
              begunArmed.current = armed;
            }}
            onPress={() => {
              if (begunArmed.current && armed && !busy) void decide(choice);
            }}
          >
            {words}
          </Button>
        ))}
      </div>
    </article>
  );
}
