import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { call } from '../api/client.ts';
import { TableHead } from '../lists/table-head.tsx';
import { formatSize } from '../live/clock.ts';
import { formatMoment, formatTimeOfDay } from '../live/time-format.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { Button, Choice, Empty, Pending, Problem } from '../parts/elements.tsx';
import { lasted } from '../runs/event-labels.ts';
import {
  changeToAllow,
  changeToRemove,
  entryOf,
  type NetworkAttempt,
  networkWords,
  ruleLabel,
  type SandboxNetwork,
} from './network-changes.ts';

/** Poll interval in milliseconds, for changes of the policy elsewhere. */
const ASK_MS = 20_000;

/** Attempts shown at a time. */
const PAGE = 100;

const SHOWN = [
  { id: 'all', words: 'All connections' },
  { id: 'allowed', words: 'Allowed' },
  { id: 'blocked', words: 'Blocked' },
  { id: 'failed', words: 'Failed' },
] as const;

const TONES: Readonly<Record<NetworkAttempt['decision'], string>> = {
  allowed: 'good',
  blocked: 'bad',
  failed: 'off',
};

export interface NetworkViewProps {
  readonly sandboxId: string;
  /** The last event of a connection: after each, the log is longer. */
  readonly seen: string;
  /** Whether the person may change what the sandbox reaches. */
  readonly isOwner: boolean;
}

/** What a sandbox may reach, and its connections, newest first. */
export function NetworkView({ sandboxId, seen, isOwner }: NetworkViewProps) {
  const path = { id: sandboxId };
  const { value, problem, reload } = useAnswer('GET /v1/sandbox/{id}/network', { path }, ASK_MS, seen);
  const { busy, problem: failure, attempt } = useAttempt();
  const [kind, setKind] = useState('all');
  const [most, setMost] = useState(PAGE);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const change = (changeOf: (now: SandboxNetwork) => Partial<SandboxNetwork> | undefined) =>
    void attempt(async () => {
      // A list replaces the one before: begin with what it is now.
      const body = changeOf(await call('GET /v1/sandbox/{id}/network', { path }));
      if (body !== undefined) await call('PATCH /v1/sandbox/{id}', { path, body });
      reload();
    });
  const found = value.attempts.filter(({ decision }) => kind === 'all' || decision === kind);
  return (
    <div className="network">
      <p>May reach: {networkWords(value)}.</p>
      {(['allow', 'deny'] as const).map((list) => (
        <Hosts
          key={list}
          title={list === 'allow' ? 'Allowed' : 'Denied'}
          entries={value[list].map(ruleLabel)}
          onRemove={isOwner ? (label) => change((lists) => changeToRemove(lists, list, label)) : undefined}
          busy={busy}
        />
      ))}
      <Problem words={failure} />
      {value.attempts.length === 0 ? (
        <Empty title="No connections yet" />
      ) : (
        <>
          <div className="filters">
            <Choice label="Show" value={kind} onChange={setKind} options={SHOWN} />
          </div>
          <table className="list stacks">
            <TableHead columns={['Host', 'Decision', 'Received', 'Sent', 'Duration', 'Time']} actions />
            <tbody>
              {found.slice(0, most).map((each, index) => (
                <AttemptRow
                  // Equal attempts of one moment differ in nothing.
                  key={`${each.at} ${entryOf(each)} ${each.rule} ${found.length - index}`}
                  attempt={each}
                  busy={busy}
                  onAllow={
                    isOwner && changeToAllow(value, each) !== undefined
                      ? () => change((lists) => changeToAllow(lists, each))
                      : undefined
                  }
                />
              ))}
            </tbody>
          </table>
          {found.length === 0 ? <Empty title="No connection matches" /> : null}
          {found.length > most ? (
            <Button onPress={() => setMost(most + PAGE)}>
              Show {Math.min(PAGE, found.length - most)} earlier of {found.length - most}
            </Button>
          ) : null}
        </>
      )}
    </div>
  );
}

interface HostsProps {
  readonly title: string;
  readonly entries: readonly string[];
  readonly onRemove: ((label: string) => void) | undefined;
  readonly busy: boolean;
}

function Hosts({ title, entries, onRemove, busy }: HostsProps) {
  if (entries.length === 0) return null;
  return (
    <ul className="hosts" aria-label={`${title} hosts`}>
      <li className="quiet">{title}:</li>
      {entries.map((label) => (
        <li key={label}>
          <bdi>{label}</bdi>
          {onRemove === undefined ? null : (
            <Button
              variant="plain"
              aria-label={`Remove ${label} from ${title.toLowerCase()} hosts`}
              isDisabled={busy}
              onPress={() => onRemove(label)}
            >
              Remove
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

interface AttemptRowProps {
  readonly attempt: NetworkAttempt;
  readonly onAllow: (() => void) | undefined;
  readonly busy: boolean;
}

function AttemptRow({ attempt, onAllow, busy }: AttemptRowProps) {
  const { at, host, port, decision, rule, attempts, bytes_in: received, bytes_out: sent, ms } = attempt;
  const moment = new Date(at);
  const name = plainText(host, 253);
  return (
    <tr>
      <td>
        <bdi>{name}</bdi>
        <span className="quiet">:{port}</span>
        {attempts === 1 ? null : <span className="quiet"> × {attempts}</span>}
      </td>
      <td className="line">
        <span className={`state ${TONES[decision]}`}>{decision}</span>{' '}
        <span className="quiet">{plainText(rule, 300)}</span>
      </td>
      <td>{formatSize(received)}</td>
      <td>{formatSize(sent)}</td>
      <td>{lasted(ms)}</td>
      <td>
        <time dateTime={at} title={formatMoment(moment)}>
          {formatTimeOfDay(moment)}
        </time>
      </td>
      <td>
        {onAllow === undefined ? null : (
          <Button aria-label={`Allow ${entryOf({ host: name, port })}`} isDisabled={busy} onPress={onAllow}>
            Allow
          </Button>
        )}
      </td>
    </tr>
  );
}
