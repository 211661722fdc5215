import { useState } from 'react';
import { call } from '../api/client.ts';
import { Button, Choice, Problem } from '../parts/elements.tsx';
import { CopyButton } from '../parts/copy-text.tsx';
import { useIsOn } from '../live/person.ts';
import { useAttempt } from '../live/use-live.ts';
import { agentConfigurations } from './agent-configurations.ts';
import type { RunEvent } from './event-labels.ts';

/** Tokens of runs created in this tab: never stored, and shown until the page is closed. */
const tokens = new Map<string, { readonly token: string; readonly since: number }>();

/** @param since id of the last event of the run before this token */
export function keepToken(runId: string, token: string, since: number): void {
  tokens.set(runId, { token, since });
}

/** Whether this tab can show the token of the run. */
export function hasToken(runId: string): boolean {
  return tokens.has(runId);
}

interface ConnectAgentProps {
  readonly runId: string;
  readonly events: readonly RunEvent[];
}

/** The number of an event of the run itself, such as `r12`; 0 for an event of its sandbox. */
function numberOf(id: string): number {
  return id.startsWith('r') ? Number(id.slice(1)) : 0;
}

/** How an agent connects to its run, and whether it has called. */
export function ConnectAgent({ runId, events }: ConnectAgentProps) {
  const [known, setKnown] = useState(tokens.get(runId));
  const [client, setClient] = useState('claude-code');
  const { busy, problem, attempt, retry } = useAttempt();
  const isConnected = events.some(({ type, id }) => {
    return type === 'agent.connected' && numberOf(id) > (known?.since ?? 0);
  });
  const rotate = async () => {
    const since = Math.max(0, ...events.map(({ id }) => numberOf(id)));
    const { agent_token: token } = await call('POST /api/runs/{id}/agent-token', { path: { id: runId } });
    keepToken(runId, token, since);
    setKnown(tokens.get(runId));
  };
  const isOn = useIsOn();
  const all = agentConfigurations({
    url: window.location.origin,
    runId,
    token: known?.token ?? '',
  }).filter(({ feature }) => isOn(feature));
  const chosen = all.find(({ id }) => id === client) ?? all[0];
  return (
    <section aria-labelledby="connect" className="connect">
      <div className="section-head">
        <h2 id="connect">Connect your agent</h2>
        <span className={isConnected ? 'state good' : 'state busy'} role="status">
          {isConnected ? 'Your agent is connected' : 'Waiting for your agent…'}
        </span>
      </div>
      {known === undefined || chosen === undefined ? (
        <p>The token of this run’s agent is shown once. A new token replaces the earlier one.</p>
      ) : (
        <>
          <Choice label="Client" value={chosen.id} onChange={setClient} options={all} />
          <p>{chosen.into}</p>
          <pre tabIndex={0} role="group" aria-label={`Configuration for ${chosen.words}`}>
            {chosen.text}
          </pre>
          <p className="quiet">The token is valid for this run only, for 24 hours at most.</p>
        </>
      )}
      <p className="actions">
        <Button isDisabled={busy} onPress={() => void attempt(rotate)}>
          New token
        </Button>
        {known === undefined || chosen === undefined ? null : (
          <CopyButton key={chosen.text} text={chosen.text} words="Copy" variant="primary" />
        )}
      </p>
      <Problem words={problem} onRetry={retry} />
    </section>
  );
}
