import { FitAddon } from '@xterm/addon-fit';
import { type ITheme, Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import { adoptInlineStyles } from './adopt-inline-styles.ts';

const DARK: ITheme = {
  background: '#0d1117',
  foreground: '#e6edf3',
  cursor: '#58a6ff',
  selectionBackground: '#264f78',
};
const LIGHT: ITheme = {
  background: '#ffffff',
  foreground: '#1f2328',
  cursor: '#1f5eff',
  selectionBackground: '#b6d4fe',
  black: '#24292f',
  white: '#6e7781',
  brightWhite: '#57606a',
  yellow: '#7d4e00',
  brightYellow: '#633c01',
};
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

type Phase = 'connecting' | 'ready' | 'away' | 'ended';

const WORDS: Readonly<Record<Phase, string>> = {
  connecting: 'Connecting…',
  ready: 'Connected',
  away: 'Reconnecting…',
  ended: 'The shell has ended',
};

/** The name of this sandbox's terminal in the console: the same after a reload, so that its screen is there again. */
const SESSION = 'console';

/** A terminal that stays while the page does not: whoever comes back sees what was shown before. */
export default function TerminalView({ sandboxId }: { readonly sandboxId: string }) {
  const place = useRef<HTMLDivElement>(null);
  const [phase, setPhase] = useState<Phase>('connecting');
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const giveBack = adoptInlineStyles(document);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const terminal = new Terminal({
      fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
      fontSize: 13,
      scrollback: 5_000,
      screenReaderMode: true,
      theme: dark.matches ? DARK : LIGHT,
      minimumContrastRatio: 4.5,
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.open(element);
    fit.fit();
    const paint = () => {
      terminal.options.theme = dark.matches ? DARK : LIGHT;
    };
    dark.addEventListener('change', paint);
    const watcher = new ResizeObserver(() => fit.fit());
    watcher.observe(element);

    const encoder = new TextEncoder();
    let socket: WebSocket | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pause = FIRST_PAUSE_MS;
    let over = false;
    const connect = () => {
      const { cols, rows } = terminal;
      const address = new URL(`/v1/sandbox/${encodeURIComponent(sandboxId)}/pty`, location.href);
      address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
      address.search = new URLSearchParams({
        cols: String(cols),
        rows: String(rows),
        session: SESSION,
      }).toString();
      const line = new WebSocket(address);
      line.binaryType = 'arraybuffer';
      socket = line;
      // What the session showed comes whole with each connection.
      line.addEventListener('open', () => terminal.reset());
      line.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
        if (typeof data !== 'string') {
          terminal.write(new Uint8Array(data));
          return;
        }
        const message = JSON.parse(data) as { type: string; code?: number; message?: string };
        if (message.type === 'ready') {
          pause = FIRST_PAUSE_MS;
          setPhase('ready');
          terminal.focus();
        } else if (message.type === 'exit') {
          over = true;
          setPhase('ended');
          terminal.write(`\r\n\x1b[2mThe shell has ended with ${message.code ?? 'a signal'}.\x1b[0m\r\n`);
        } else if (message.type === 'error') {
          terminal.write(`\r\n\x1b[31m${message.message ?? ''}\x1b[0m\r\n`);
        }
      });
      line.addEventListener('close', () => {
        if (over) return;
        setPhase('away');
        timer = setTimeout(connect, pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      });
    };
    const tell = (message: string | Uint8Array<ArrayBuffer>) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(message);
    };
    terminal.onData((text) => tell(encoder.encode(text)));
    terminal.onBinary((text) => tell(Uint8Array.from(text, (each) => each.charCodeAt(0))));
    terminal.onResize(({ cols, rows }) => tell(JSON.stringify({ type: 'resize', cols, rows })));
    connect();
    return () => {
      over = true;
      clearTimeout(timer);
      socket?.close();
      watcher.disconnect();
      dark.removeEventListener('change', paint);
      terminal.dispose();
      giveBack();
    };
  }, [sandboxId, attempt]);
  return (
    <div className="terminal">
      <p className="terminal-state">
        <span className={`live ${phase === 'ready' ? 'on' : ''}`} role="status">
          {WORDS[phase]}
        </span>
        {phase === 'ended' ? (
          <button type="button" className="button" onClick={() => setAttempt((count) => count + 1)}>
            Start another
          </button>
        ) : (
          <span className="quiet">It goes on while you are away.</span>
        )}
      </p>
      <div ref={place} className="screen" role="group" aria-label="Terminal" />
    </div>
  );
}
