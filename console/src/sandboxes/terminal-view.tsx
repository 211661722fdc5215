import { FitAddon } from '@xterm/addon-fit';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useContext, useEffect, useEffectEvent, useId, useRef, useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { SessionContext } from '../live/use-live.ts';
import { isDark, onThemeChange } from '../live/theme.ts';
import { Button } from '../parts/elements.tsx';
import { adoptInlineStyles } from './adopt-inline-styles.ts';
import { UNICODE_OF_TODAY } from './character-width.ts';
import { OpenLink } from './open-link.tsx';
import { DARK, LIGHT } from './terminal-colours.ts';
import { openLine, type Phase } from './terminal-line.ts';

const WORDS: Readonly<Record<Phase, string>> = {
  connecting: 'Connecting…',
  ready: 'Connected',
  away: 'Reconnecting…',
  ended: 'The shell has ended',
  stopped: 'The sandbox was stopped, and its shells with it',
  gone: 'The sandbox is not there any more',
};

export interface TerminalViewProps {
  readonly sandboxId: string;
  readonly session: string;
  readonly label: string;
  /** Whether the output is also rendered for screen readers. */
  readonly isRead: boolean;
  /** The shell has ended, or its sandbox was stopped or deleted. */
  readonly onOver: () => void;
}

/** A terminal that survives the page: on return it replays the previous output. */
export default function TerminalView({ sandboxId, session, label, isRead, onOver }: TerminalViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const help = useId();
  const leave = useRef<HTMLButtonElement>(null);
  const shown = useRef<Terminal>(undefined);
  const [phase, setPhase] = useState<Phase>('connecting');
  const [words, setWords] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  // The server ends a terminal with the session that has it open: signing in again restores it.
  const { count: signIns } = useContext(SessionContext);
  const [link, setLink] = useState<string>();
  const [isControl, setIsControl] = useState(false);
  const over = useEffectEvent(onOver);
  const isReadFirst = useEffectEvent(() => isRead);
  /** With Ctrl held by its button, a letter becomes its control character. */
  const bytesOf = useEffectEvent((text: string) => {
    const isHeld = isControl && /^[a-z@[\\\]^_]$/i.test(text);
    if (isHeld) setIsControl(false);
    return new TextEncoder().encode(isHeld ? String.fromCharCode(text.charCodeAt(0) & 31) : text);
  });
  useEffect(() => {
    if (shown.current !== undefined) shown.current.options.screenReaderMode = isRead;
  }, [isRead]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const ended = new AbortController();
    const giveBack = adoptInlineStyles(document);
    const terminal = new Terminal({
      allowProposedApi: true,
      fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
      fontSize: 13,
      scrollback: 5_000,
      screenReaderMode: isReadFirst(),
      theme: isDark() ? DARK : LIGHT,
      minimumContrastRatio: 4.5,
      // A program may name any address: it opens only after the user has confirmed it.
      linkHandler: { activate: (_, address) => setLink(address) },
    });
    shown.current = terminal;
    terminal.unicode.register(UNICODE_OF_TODAY);
    terminal.unicode.activeVersion = UNICODE_OF_TODAY.version;
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    terminal.loadAddon(new WebLinksAddon((_, address) => setLink(address)));
    terminal.open(element);
    // Injection: DECRQSS replies would return text that a program chose as typed input. Programs
    // work without them.
    terminal.parser.registerDcsHandler({ intermediates: '$', final: 'q' }, () => true);
    terminal.textarea?.setAttribute('aria-describedby', help);
    fit.fit();
    const paint = () => {
      terminal.options.theme = isDark() ? DARK : LIGHT;
    };
    onThemeChange(paint, ended.signal);
    // A hidden pane has no size: programs would get a screen of two columns.
    const watcher = new ResizeObserver(() => {
      if (element.clientWidth > 0) fit.fit();
    });
    watcher.observe(element);
    // WCAG 2.1.2: keyboard users must be able to leave. Every other key goes to the shell.
    terminal.attachCustomKeyEventHandler((event) => ownKey(event, terminal, () => leave.current?.focus()));

    element.addEventListener(
      'paste',
      (event) => {
        event.preventDefault();
        event.stopPropagation();
        terminal.paste(withoutControls(event.clipboardData?.getData('text/plain') ?? ''));
      },
      { capture: true, signal: ended.signal },
    );

    const line = openLine({
      sandboxId,
      session,
      signal: ended.signal,
      screen: {
        size: () => ({ cols: terminal.cols, rows: terminal.rows }),
        show: (bytes, then) => terminal.write(bytes, then),
        clear: () => terminal.write('', () => terminal.reset()),
        isFull: () => terminal.buffer.active.type === 'alternate',
      },
      onPhase: (next, why) => {
        setPhase(next);
        setWords(why);
        if (next === 'ready' && mayTakeFocus(element)) terminal.focus();
        if (next === 'ended' || next === 'stopped' || next === 'gone') over();
      },
    });
    terminal.onData((text) => line.type(bytesOf(text)));
    terminal.onBinary((text) => line.type(Uint8Array.from(text, (each) => each.charCodeAt(0))));
    terminal.onResize(() => line.resize());
    return () => {
      ended.abort();
      watcher.disconnect();
      shown.current = undefined;
      terminal.dispose();
      giveBack();
    };
  }, [sandboxId, session, attempt, signIns, help]);
  return (
    <div className="terminal">
      <p className="terminal-state">
        <span className={`live ${phase === 'ready' ? 'on' : ''}`} role="status">
          {WORDS[phase]}
          {words}
        </span>
        {phase === 'ended' ? (
          <Button
            onPress={() => {
              setPhase('connecting');
              setWords(undefined);
              setAttempt((count) => count + 1);
            }}
          >
            Start a new shell
          </Button>
        ) : null}
        <button
          type="button"
          className="button plain terminal-help"
          ref={leave}
          id={help}
          onClick={() => shown.current?.focus()}
        >
          Ctrl+Shift+X leaves the terminal, Ctrl+Shift+C copies, Ctrl+Shift+V pastes
        </button>
      </p>
      <div ref={place} className="screen" role="group" aria-label={label} />
      <TerminalKeys
        isControl={isControl}
        onControl={setIsControl}
        onKey={(keys) => {
          shown.current?.input(keys);
          shown.current?.focus();
        }}
      />
      <OpenLink
        address={link}
        onClose={() => {
          setLink(undefined);
          shown.current?.focus();
        }}
      />
    </div>
  );
}

/**
 * Not on a phone, where it would open the keyboard, and not if another element of the page has the
 * focus.
 */
function mayTakeFocus(element: HTMLElement): boolean {
  const active = document.activeElement;
  return (
    matchMedia('(pointer: fine)').matches &&
    (active === null || active === document.body || element.contains(active))
  );
}

/**
 * False for keys of the page: leaving, and the usual clipboard keys of terminals. Ctrl-C goes to
 * the program unless text is selected.
 */
function ownKey(event: KeyboardEvent, terminal: Terminal, leave: () => void): boolean {
  if (event.type !== 'keydown' || !event.ctrlKey || event.altKey || event.metaKey) return true;
  const key = event.key.toLowerCase();
  if (event.shiftKey && key === 'x') {
    event.preventDefault();
    leave();
    return false;
  }
  // The browser pastes without a prompt.
  if (event.shiftKey && key === 'v') return false;
  const copies = key === 'c' && (event.shiftKey || terminal.hasSelection());
  if (!copies && !(key === 'insert' && terminal.hasSelection())) return true;
  event.preventDefault();
  if (terminal.hasSelection()) {
    void copy(terminal.getSelection());
    terminal.clearSelection();
  }
  return false;
}

/**
 * Pasted text must not contain control characters: an escape could end the bracketed paste, and the
 * rest would run as if typed.
 */
function withoutControls(text: string): string {
  return text.replace(/(?![\t\n\r])\p{Cc}/gu, '');
}

async function copy(text: string): Promise<void> {
  // Without TLS the clipboard API exists only on loopback; the selection is then in the field that
  // the browser copies from.
  if ('clipboard' in navigator) await navigator.clipboard.writeText(text).catch(() => undefined);
  else document.execCommand('copy');
}

const KEYS = [
  { name: 'Esc', sends: '\x1b' },
  { name: 'Tab', sends: '\t' },
  { name: '↑', label: 'Up', sends: '\x1b[A' },
  { name: '↓', label: 'Down', sends: '\x1b[B' },
  { name: '←', label: 'Left', sends: '\x1b[D' },
  { name: '→', label: 'Right', sends: '\x1b[C' },
] as const;

interface TerminalKeysProps {
  /** Whether Ctrl applies to the next letter. */
  readonly isControl: boolean;
  readonly onControl: (isControl: boolean) => void;
  readonly onKey: (sends: string) => void;
}

/** Keys that a phone's keyboard lacks. */
function TerminalKeys({ isControl, onControl, onKey }: TerminalKeysProps) {
  return (
    <div className="terminal-keys" role="group" aria-label="Keys">
      <ToggleButton className="button" isSelected={isControl} onChange={onControl}>
        Ctrl
      </ToggleButton>
      {KEYS.map(({ name, sends, ...key }) => (
        <Button key={name} aria-label={'label' in key ? key.label : name} onPress={() => onKey(sends)}>
          {name}
        </Button>
      ))}
    </div>
  );
}
