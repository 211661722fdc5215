import { plainText } from '#core/rules/plain-text.ts';
import { useAnswer } from '../live/use-live.ts';

/** What a look into the sandbox finds at the port. Program and title are what the sandbox calls them: marked as such, and cut. */
export function WhatListens({ runId, port }: { readonly runId: string; readonly port: number }) {
  const { value, problem } = useAnswer(
    'GET /api/runs/{id}/sandbox/doctor',
    { path: { id: runId }, query: { port: String(port) } },
    10_000,
  );
  const found = value?.ports.find((each) => each.port === port);
  const program = plainText(found?.listener?.process?.command ?? '', 80);
  const title = plainText(found?.http.title ?? '', 60);
  return (
    <dl className="listens" aria-label={`What listens on port ${port}`}>
      {value === undefined ? (
        <div>
          <dt>Port {port}</dt>
          <dd>{problem ?? 'Looking at what listens…'}</dd>
        </div>
      ) : (
        <>
          <div>
            <dt>Port {port}</dt>
            <dd>{plainText(found?.advice ?? value.advice, 240)}</dd>
          </div>
          {program === '' ? null : (
            <div>
              <dt>Program</dt>
              <dd>
                <code dir="ltr">{program}</code>
              </dd>
            </div>
          )}
          {title === '' ? null : (
            <div>
              <dt>Its title</dt>
              <dd>
                <bdi>“{title}”</bdi>
              </dd>
            </div>
          )}
        </>
      )}
    </dl>
  );
}
