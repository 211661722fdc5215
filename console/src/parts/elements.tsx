import { type ReactNode, useSyncExternalStore } from 'react';
import {
  Button as AriaButton,
  type ButtonProps as AriaButtonProps,
  Checkbox,
  type CheckboxProps,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
  TextArea,
  TextField,
  type TextFieldProps,
} from 'react-aria-components';
import { Link } from 'wouter';
import { serverNow, timeAgo } from '../live/clock.ts';
import { formatMoment } from '../live/time-format.ts';

export interface ButtonProps extends AriaButtonProps {
  /** A further class. */
  readonly className?: string;
  /** @default 'normal' */
  readonly variant?: 'normal' | 'primary' | 'danger' | 'plain';
}

export function Button({ variant = 'normal', className = '', ...props }: ButtonProps) {
  return <AriaButton {...props} className={`button ${variant} ${className}`} />;
}

interface ChoiceProps {
  readonly label: string;
  readonly name?: string;
  readonly value?: string;
  readonly defaultValue?: string;
  readonly onChange?: (value: string) => void;
  readonly isDisabled?: boolean;
  readonly options: readonly { readonly id: string; readonly words: string }[];
}

/** A choice of few options. */
export function Choice({ label, onChange, options, ...select }: ChoiceProps) {
  return (
    <Select {...select} className="field" {...(onChange && { onChange: (key) => onChange(String(key)) })}>
      <Label>{label}</Label>
      <AriaButton className="button select">
        <SelectValue />
        <span aria-hidden="true">▾</span>
      </AriaButton>
      <Popover className="popover">
        <ListBox className="options">
          {options.map(({ id, words }) => (
            <ListBoxItem key={id} id={id}>
              {words}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}

/** The trimmed text of a form field; undefined for files and missing fields. */
export function formText(form: FormData, field: string): string {
  const value = form.get(field);
  return typeof value === 'string' ? value.trim() : '';
}

const PATHS = {
  porthole:
    'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20Zm0 4.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM7 12.8c1.6-1.2 3-1.2 5 0s3.300 1.200 5 0',
  runs: 'M5 4v16M5 6h9l-1.500 3L14 12H5',
  box: 'M12 3 4 7v10l8 4 8-4V7l-8-4Zm0 9 8-5M12 12v9M12 12 4 7',
  code: 'm8 7-5 5 5 5M16 7l5 5-5 5M14 4l-4 16',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  qr: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2h-2zM18 14h2M14 18v2',
  reload: 'M20 5v5h-5M19.500 10A8 8 0 1 0 20 14',
  stop: 'M6 6h12v12H6z',
  play: 'M8 5l11 7-11 7z',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  folder: 'M3 6h6l2 2h10v11H3z',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  check: 'm4 12 5 5L20 6',
  side: 'M3 5h18v14H3zM14 5v14',
  bottom: 'M3 5h18v14H3zM3 14h18',
  close: 'm6 6 12 12M18 6 6 18',
  back: 'M15 5l-7 7 7 7',
  forward: 'm9 5 7 7-7 7',
  rotate: 'M4 4h8v16H4zM16 6a5 5 0 0 1 4 5M20 7v4h-4',
  plus: 'M12 5v14M5 12h14',
  move: 'M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3',
  find: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14ZM16 16l5 5',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A checkbox; without children it needs an `aria-label`. */
export function Check({ children, ...props }: CheckboxProps & { readonly children?: ReactNode }) {
  return (
    <Checkbox {...props} className="check">
      <span className="box" aria-hidden="true" />
      {children}
    </Checkbox>
  );
}

interface TextInputProps extends TextFieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly placeholder?: string;
  /** More than one: a text area. @default 1 */
  readonly rows?: number;
  /** Why the value is invalid, where the field cannot know that. */
  readonly problem?: string | undefined;
}

/**
 * An invalid value is validated on each key, not on blur: a message that disappears on blur would
 * move a button away from under a press.
 */
function validateAgain({ currentTarget }: { readonly currentTarget: HTMLElement }): void {
  if (currentTarget.closest('[data-invalid]') !== null) currentTarget.dispatchEvent(new Event('change'));
}

/** A field for a text of one or more lines. */
export function TextInput({ label, hint = '', placeholder, rows = 1, problem, ...props }: TextInputProps) {
  return (
    <TextField {...props} className="field" {...(problem !== undefined && { isInvalid: true })}>
      <Label>{label}</Label>
      {rows === 1 ? (
        <Input {...(placeholder !== undefined && { placeholder })} onInput={validateAgain} />
      ) : (
        <TextArea rows={rows} spellCheck={false} />
      )}
      {hint === '' ? null : (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{problem}</FieldError>
    </TextField>
  );
}

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
        {what === 'page' ? 'This address does not exist.' : 'It was deleted, or it belongs to another user.'}
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
  works: 'good',
  delivered: 'good',
  failing: 'bad',
  failed: 'bad',
  broken: 'bad',
  creating: 'busy',
  starting: 'busy',
  waiting: 'busy',
  unclear: 'busy',
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

const POLL_MS = 15_000;
const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all rows of all lists. */
function subscribe(listener: () => void): () => void {
  now = serverNow();
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = serverNow();
    for (const each of listeners) each();
  }, POLL_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Relative time. Re-renders only when its text changes. */
export function Ago({ at }: { readonly at: string }) {
  const words = useSyncExternalStore(subscribe, () => timeAgo(now - Date.parse(at)));
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {words}
    </time>
  );
}

interface PageHeadProps {
  /** The page of the list that it is in. */
  readonly parent: readonly [address: string, name: string];
  readonly title: string;
  /** What is known of it, in a row. */
  readonly facts: ReactNode;
  /** What can be done with it. */
  readonly children?: ReactNode;
}

/** The head of a page about one thing of a list. */
export function PageHead({ parent: [address, name], title, facts, children }: PageHeadProps) {
  return (
    <div className="page-head">
      <p className="crumb">
        <Link href={address}>{name}</Link>
      </p>
      <h1 title={title}>
        <bdi>{title}</bdi>
      </h1>
      <p className="facts">{facts}</p>
      {children}
    </div>
  );
}
