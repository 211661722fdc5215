import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Button } from './controls.tsx';

export function Loading() {
  return (
    <p className="loading" role="status">
      Loading…
    </p>
  );
}

interface ProblemProps {
  /** Undefined: nothing is shown. */
  readonly words: string | undefined;
  readonly onRetry?: () => void;
}

/** An error with the API's message. */
export function Problem({ words, onRetry }: ProblemProps) {
  if (words === undefined) return null;
  return (
    <div className="problem" role="alert">
      <p>{words}</p>
      {onRetry === undefined ? null : <Button onPress={onRetry}>Try again</Button>}
    </div>
  );
}

/** In place of what was not read yet. */
export function Pending({ words, onRetry }: ProblemProps) {
  return words === undefined ? <Loading /> : <Problem words={words} {...(onRetry && { onRetry })} />;
}

/** An empty list, and what to do about it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="title">{title}</p>
      {children}
    </div>
  );
}

const HOMES: Readonly<Record<string, readonly [address: string, words: string]>> = {
  sandbox: ['/sandboxes', 'Go to the sandboxes'],
  tool: ['/tools', 'Go to the tools'],
};

export function Missing({ what }: { readonly what: string }) {
  const [home, words] = HOMES[what] ?? ['/', 'Go to the runs'];
  return (
    <div className="empty">
      <h1 className="title">There is no such {what}</h1>
      <p>
        {what === 'page' ? 'The address leads nowhere.' : 'It was deleted, or it belongs to another user.'}
      </p>
      <p>
        <Link href={home}>{words}</Link>
      </p>
    </div>
  );
}

const TONES: Readonly<Record<string, string>> = {
  running: 'good',
  ready: 'good',
  succeeded: 'good',
  failed: 'bad',
  creating: 'busy',
  starting: 'busy',
  waiting: 'busy',
};

/** A term of a description list. */
export function Fact({ name, children }: { readonly name: ReactNode; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A state as a coloured word; the colour adds no information. */
export function State({ value }: { readonly value: string }) {
  return <span className={`state ${TONES[value] ?? 'off'}`}>{value}</span>;
}
