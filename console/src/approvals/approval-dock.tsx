import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { timeLeft } from '../live/time-words.ts';
import { problemOf, useAnswer, useNow } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import type { WaitingApproval } from './use-approvals.ts';

/** What waits, in front of whatever page one is on. */
export function ApprovalDock({ waiting }: { readonly waiting: readonly WaitingApproval[] }) {
  return (
    <section className="dock" aria-label="Waiting for your decision" aria-live="polite">
      {waiting.map((each) => (
        <ApprovalCard key={each.request_id} approval={each} />
      ))}
    </section>
  );
}

function ApprovalCard({ approval }: { readonly approval: WaitingApproval }) {
  const now = useNow();
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const port = approval.arguments['target_port'];
  const decide = async (decision: 'approve' | 'deny', scope: 'once' | 'run' | 'always') => {
    setBusy(true);
    setProblem(undefined);
    try {
      await call('POST /api/runs/{id}/tool-approvals', {
        path: { id: approval.run_id },
        body: { request_id: approval.request_id, decision, scope },
      });
    } catch (error) {
      setProblem(problemOf(error));
      setBusy(false);
    }
  };
  const left = Date.parse(approval.expires_at) - now;
  return (
    <article className="approval" aria-labelledby={`ask-${approval.request_id}`}>
      <header>
        <h2 id={`ask-${approval.request_id}`}>
          {typeof port === 'number' ? `Open a preview of port ${port}?` : approval.message}
        </h2>
        <span className={`countdown ${left < 60_000 ? 'urgent' : ''}`} role="timer">
          {timeLeft(left)}
        </span>
      </header>
      <p className="quiet">
        The agent of <Link href={`/runs/${approval.run_id}`}>{approval.run_title ?? approval.run_id}</Link>{' '}
        asks.
      </p>
      {typeof port === 'number' ? <WhatListens runId={approval.run_id} port={port} /> : null}
      {problem === undefined ? null : <Problem words={problem} />}
      <div className="actions" role="group" aria-label="Your decision">
        <Button variant="primary" isDisabled={busy} onPress={() => void decide('approve', 'once')}>
          Approve once
        </Button>
        <Button isDisabled={busy} onPress={() => void decide('approve', 'run')}>
          For this run
        </Button>
        <Button isDisabled={busy} onPress={() => void decide('approve', 'always')}>
          Always
        </Button>
        <Button variant="danger" isDisabled={busy} onPress={() => void decide('deny', 'once')}>
          Deny
        </Button>
      </div>
    </article>
  );
}

/** What a look into the sandbox finds at the port. */
function WhatListens({ runId, port }: { readonly runId: string; readonly port: number }) {
  const { value, problem } = useAnswer(
    'GET /api/runs/{id}/sandbox/doctor',
    { path: { id: runId }, query: { port: String(port) } },
    10_000,
  );
  if (value === undefined) {
    return <p className="listens quiet">{problem ?? `Looking at what listens on ${port}…`}</p>;
  }
  const found = value.ports.find((each) => each.port === port);
  const command = found?.listener?.process?.command;
  return (
    <p className="listens">
      {command === undefined ? null : <code>{command}</code>}
      {found?.http.title == null ? null : <span>“{found.http.title}”</span>}
      <span className="quiet">{found?.advice ?? value.advice}</span>
    </p>
  );
}
