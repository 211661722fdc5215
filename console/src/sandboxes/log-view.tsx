import { useLayoutEffect, useRef, useState } from 'react';
import { addressOf } from '../api/client.ts';
import { useEvents } from '../live/use-live.ts';
import { appendLog, logText } from './log-text.ts';

export interface Log {
  /** A route of output that is followed: an event stream. */
  readonly address: string;
  /** The log goes on after an exit: a server is started again. */
  readonly goesOn: boolean;
}

export function serverLog(id: string, name: string): Log {
  const query = { follow: true, tail: 500 };
  return {
    address: addressOf('GET /v1/sandbox/{id}/servers/{name}/logs', { id, name }, query),
    goesOn: true,
  };
}

export function processLog(id: string, pid: string): Log {
  const query = { follow: true };
  return {
    address: addressOf('GET /v1/sandbox/{id}/processes/{pid}/output', { id, pid }, query),
    goesOn: false,
  };
}

interface LogViewProps extends Log {
  readonly label: string;
}

/** The output of a server or a process, while it grows. */
export function LogView({ label, address, goesOn }: LogViewProps) {
  const [log, setLog] = useState('');
  const [hasEnded, setHasEnded] = useState(false);
  const decoders = useRef(new Map<string, TextDecoder>());
  const place = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  // A stream that has ended must not be connected again and again.
  useEvents(hasEnded ? null : address, ({ event: type, data }) => {
    const append = (text: string) => setLog((before) => appendLog(before, text));
    if (type === 'exit') {
      append(`${exitWords(data)}\n`);
      if (!goesOn) setHasEnded(true);
    }
    if (type === 'cut') append('… earlier output is not kept …\n');
    if (type !== 'stdout' && type !== 'stderr') return;
    const decoder = decoders.current.get(type) ?? new TextDecoder();
    decoders.current.set(type, decoder);
    const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
    append(decoder.decode(bytes, { stream: true }));
  });
  useLayoutEffect(() => {
    const element = place.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [log]);
  return (
    <pre
      ref={place}
      className="log"
      dir="ltr"
      role="log"
      aria-label={label}
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 20;
      }}
    >
      {log === '' ? 'Nothing was printed yet.' : logText(log)}
    </pre>
  );
}

function exitWords(data: string): string {
  const { code, signal } = JSON.parse(data) as {
    readonly code: number | null;
    readonly signal: string | null;
  };
  return `— exited: ${code === null ? (signal ?? 'unknown') : `code ${code}`}`;
}
