import { useState } from 'react';
import { ToggleButton } from 'react-aria-components';
import { call } from '../api/client.ts';
import { usePageRights } from '../live/page-rights.ts';
import { Button, Empty, Icon, Problem } from '../parts/elements.tsx';
import { lazyPart } from '../parts/lazy-part.tsx';
import { useAttempt } from '../live/use-live.ts';
import { usePlace } from './use-place.ts';

// Loaded lazily: large, and most pages do not need it.
const TerminalView = lazyPart(() => import('./terminal-view.tsx'));

/** The server's limit, beyond which it ends the terminal unused for longest. */
const MAX_TERMINALS = 16;
/** A preference, not a secret: stored in the browser. */
const READ = 'porthole-screen-reader';

/** Session names are the same after a reload, so that the screens are restored. */
function sessionOf(number: number): string {
  return number === 1 ? 'console' : `console-${number}`;
}

/** Parses `1.3.4` from an address; invalid text gives the first terminal. */
function readNumbers(text: string | null): readonly number[] {
  const numbers = (text ?? '')
    .split('.')
    .map(Number)
    .filter((each) => Number.isInteger(each) && each > 0 && each < 1_000);
  return numbers.length === 0 ? [1] : [...new Set(numbers)].slice(0, MAX_TERMINALS);
}

interface TerminalsProps {
  readonly sandboxId: string;
  /** A terminal has ended, or its sandbox was stopped or deleted. */
  readonly onOver: () => void;
}

interface TerminalPaneProps extends TerminalsProps {
  /** What the page is about. */
  readonly what: 'run' | 'sandbox';
}

/** The terminals of a sandbox, for those who may work in it. */
export function TerminalPane({ what, ...terminals }: TerminalPaneProps) {
  const { canWork, why } = usePageRights();
  return canWork ? (
    <Terminals {...terminals} />
  ) : (
    <Empty title={`Terminals are for those who may work in this ${what}`}>
      <p>{why}</p>
    </Empty>
  );
}

/**
 * The terminals of a sandbox, one of them visible. Their list is in the address, so a reload
 * restores it.
 */
function Terminals({ sandboxId, onOver }: TerminalsProps) {
  const [place, go] = usePlace();
  const numbers = readNumbers(place.get('terminals'));
  const asked = Number(place.get('terminal'));
  const current = numbers.includes(asked) ? asked : (numbers[0] ?? 1);
  const beside = numbers.find((each) => each === Number(place.get('beside')) && each !== current);
  const [isRead, setIsRead] = useState(() => localStorage.getItem(READ) === 'yes');
  const { busy, problem, attempt, retry } = useAttempt();
  const show = (all: readonly number[], number: number) =>
    go({
      terminals: all.length === 1 && all[0] === 1 ? undefined : all.join('.'),
      terminal: number === all[0] ? undefined : String(number),
    });
  const open = (isBeside: boolean) => {
    const next = Math.max(...numbers) + 1;
    show([...numbers, next], isBeside ? current : next);
    if (isBeside) go({ beside: String(next) });
  };
  const split = () => {
    if (beside !== undefined) return go({ beside: undefined });
    const other = numbers.find((each) => each !== current);
    if (other === undefined) open(true);
    else go({ beside: String(other) });
  };
  const close = async () => {
    await call('DELETE /v1/sandbox/{id}/session/{sid}', {
      path: { id: sandboxId, sid: sessionOf(current) },
    });
    const left = numbers.filter((each) => each !== current);
    show(left, left.findLast((each) => each < current) ?? left[0] ?? 1);
  };
  return (
    <section className="terminals" aria-label="Terminals">
      <div className="terminal-bar">
        <div className="tools" role="group" aria-label="Which terminal">
          {numbers.map((each) => (
            <button
              key={each}
              type="button"
              className="button"
              aria-pressed={each === current}
              onClick={() => show(numbers, each)}
            >
              Terminal {each}
            </button>
          ))}
          <Button isDisabled={numbers.length >= MAX_TERMINALS} onPress={() => open(false)}>
            New terminal
          </Button>
          <ToggleButton className="button" isSelected={beside !== undefined} onChange={split}>
            Side by side
          </ToggleButton>
        </div>
        <div className="tools">
          <ToggleButton
            className="button"
            isSelected={isRead}
            onChange={(on) => {
              setIsRead(on);
              if (on) localStorage.setItem(READ, 'yes');
              else localStorage.removeItem(READ);
            }}
          >
            Screen reader mode
          </ToggleButton>
          {numbers.length === 1 ? null : (
            <Button isDisabled={busy} onPress={() => void attempt(close)}>
              <Icon name="close" /> Close terminal {current}
            </Button>
          )}
        </div>
      </div>
      <Problem words={problem} onRetry={retry} />
      <div className="terminal-row">
        {[current, beside]
          .filter((each) => each !== undefined)
          .map((each) => (
            <TerminalView
              key={each}
              sandboxId={sandboxId}
              session={sessionOf(each)}
              label={`Terminal ${each}`}
              isRead={isRead}
              onOver={onOver}
            />
          ))}
      </div>
    </section>
  );
}
