import { createHmac } from 'node:crypto';
import { type Struct, StructMessage } from './protocol.ts';

/**
 * Key and marks of the values that JSON cannot represent (`sdk/go/common/resource/properties.go` of
 * Pulumi).
 */
const MARK = '4dabf18193072939515e22adb298388d';
const SECRET = '1b47061264138c4ac30d75fd1eb44270';
/** Assets and archives: the engine would read them. */
const FILES = ['c44067f5952c0a294b673a41bacd8c17', '0def7320c3a5731c473e5ecbe6d01bc7'];
const UNKNOWN_TEXT = '04da6b54-80e4-46f7-96ec-b56ff0331ba9';

/** A value that is known only after the update has run. */
export const UNKNOWN: unique symbol = Symbol('unknown');

/** A value that must never be shown. */
export class Secret {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  reveal(): unknown {
    return this.#value;
  }

  /** The form in a message or a snapshot that includes it by accident. */
  toJSON(): string {
    return '[secret]';
  }
}

export type Properties = Readonly<Record<string, unknown>>;

export function decode(struct: Struct | undefined): Properties {
  return struct === undefined ? {} : (decodeValue(struct.toJavaScript()) as Properties);
}

function decodeValue(value: unknown): unknown {
  if (value === UNKNOWN_TEXT) return UNKNOWN;
  if (Array.isArray(value)) return value.map(decodeValue);
  if (!isRecord(value)) return value;
  if (value[MARK] === SECRET) return new Secret(decodeValue(value['value']));
  if (FILES.includes(String(value[MARK]))) {
    const { [MARK]: _mark, ...content } = value;
    return mapValues(content, decodeValue);
  }
  if (MARK in value) throw new Error(`a value of an unexpected kind: ${String(value[MARK])}`);
  return mapValues(value, decodeValue);
}

export function encode(properties: Properties): Struct {
  return StructMessage.fromJavaScript(encodeValue(properties) as Record<string, unknown>);
}

function encodeValue(value: unknown): unknown {
  if (value === UNKNOWN) return UNKNOWN_TEXT;
  if (value instanceof Secret) return { [MARK]: SECRET, value: encodeValue(value.reveal()) };
  if (Array.isArray(value)) return value.map(encodeValue);
  return isRecord(value) ? mapValues(value, encodeValue) : value;
}

/** The value as an API server accepts it. */
export function reveal(value: unknown): unknown {
  if (value === UNKNOWN) throw new Error('a value that is not known yet cannot be sent');
  if (value instanceof Secret) return reveal(value.reveal());
  if (Array.isArray(value)) return value.map(reveal);
  return isRecord(value) ? mapValues(value, reveal) : value;
}

/**
 * The value as a state may store it: only a digest of a secret, which shows whether it has changed.
 */
export function seal(value: unknown, key: string): unknown {
  if (value instanceof Secret) {
    const digest = createHmac('sha256', key)
      .update(JSON.stringify(reveal(value)))
      .digest('hex');
    return { sealed: digest };
  }
  if (Array.isArray(value)) return value.map((each) => seal(each, key));
  return isRecord(value) ? mapValues(value, (each) => seal(each, key)) : value;
}

/** Paths of all nested values for which this holds, e.g. `spec.ports[0].port`. */
export function pathsWhere(value: unknown, holds: (each: unknown) => boolean, at = ''): string[] {
  if (holds(value)) return [at];
  if (Array.isArray(value)) return value.flatMap((each, index) => pathsWhere(each, holds, `${at}[${index}]`));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    pathsWhere(each, holds, at === '' ? key : `${at}.${key}`),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
}

function mapValues(record: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
