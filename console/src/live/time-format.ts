/** How times are written: by the browser, or as chosen in the settings. */
export interface TimeFormat {
  /** A BCP 47 language tag; empty: the browser's. */
  readonly language: string;
  /** `locale`: as usual in the language. */
  readonly hours: 'locale' | '12' | '24';
}

/** A preference, not a secret: stored in the browser. */
const KEY = 'porthole-times';
const HOURS = ['locale', '12', '24'] as const;

const listeners = new Set<() => void>();
let current = read();

function read(): TimeFormat {
  const [hours, language = ''] = (localStorage.getItem(KEY) ?? '').split(' ');
  return {
    language: isLanguage(language) ? language : '',
    hours: HOURS.find((each) => each === hours) ?? 'locale',
  };
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}

export function timeFormat(): TimeFormat {
  return current;
}

export function chooseTimeFormat(format: TimeFormat): void {
  current = format;
  formats.clear();
  localStorage.setItem(KEY, `${format.hours} ${format.language}`);
  for (const listener of listeners) listener();
}

/** @returns a function that removes the listener */
export function onTimeFormat(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const HOUR_CYCLES = { locale: undefined, '12': 'h12', '24': 'h23' } as const;
const TIME = { hour: 'numeric', minute: '2-digit', second: '2-digit' } as const;
const MOMENT = { year: 'numeric', month: 'numeric', day: 'numeric', ...TIME } as const;
const DATE = { dateStyle: 'medium' } as const;

/** By their options: to make one takes longer than to write a hundred times. */
const formats = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();

function formatted(at: string | number | Date, options: Intl.DateTimeFormatOptions): string {
  const { language, hours } = current;
  const hourCycle = options.hour === undefined ? undefined : HOUR_CYCLES[hours];
  const format =
    formats.get(options) ??
    new Intl.DateTimeFormat(language === '' ? undefined : language, {
      ...options,
      ...(hourCycle !== undefined && { hourCycle }),
    });
  formats.set(options, format);
  return format.format(new Date(at));
}

/** A date and a time: `29/11/2026, 14:05:00`. */
export function formatMoment(at: string | number | Date): string {
  return formatted(at, MOMENT);
}

/** A time of today: `14:05:00`. */
export function formatTimeOfDay(at: string | number | Date): string {
  return formatted(at, TIME);
}

/** A date: `29 Nov 2026`. */
export function formatDate(at: string | number | Date): string {
  return formatted(at, DATE);
}
