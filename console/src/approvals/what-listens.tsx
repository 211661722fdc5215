import { useState } from 'react';
import { plainText } from '#core/shared/plain-text.ts';
import { addressOf } from '../api/client.ts';
import { useAnswer, useEvents } from '../live/use-live.ts';
import { Fact } from '../parts/feedback.tsx';

/** Poll interval in milliseconds, if no event reports changes. */
const ASK_MS = 60_000;

interface WhatListensProps {
  readonly runId: string;
  readonly port: number;
  /** Refreshes after each event of the port. Uses a connection, of which browsers allow six. */
  readonly follows: boolean;
}

/**
 * What listens on the port, as inspected in the sandbox. Program and title are untrusted: marked as
 * such, and truncated.
 */
export function WhatListens({ runId, port, follows }: WhatListensProps) {
  const [seen, setSeen] = useState('');
  const events = follows ? addressOf('GET /api/runs/{id}/events', { id: runId }) : null;
  useEvents(events, ({ id, data: text }) => {
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
