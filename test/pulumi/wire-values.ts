/**
 * Key and marks of the values that JSON cannot represent (`sdk/go/common/resource/properties.go` of
 * Pulumi).
 */
const MARK = '4dabf18193072939515e22adb298388d';
const SECRET = '1b47061264138c4ac30d75fd1eb44270';
/** Assets and archives: the engine would read them. */
const FILES = ['c44067f5952c0a294b673a41bacd8c17', '0def7320c3a5731c473e5ecbe6d01bc7'];
const RESOURCE = '5cf8f73096256a8f31e491e813e4eb8e';
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

export function decode(properties: Properties): Properties {
  return decodeValue(properties) as Properties;
}

function decodeValue(value: unknown): unknown {
  if (value === UNKNOWN_TEXT) return UNKNOWN;
  if (Array.isArray(value)) return value.map(decodeValue);
  if (!isRecord(value)) return value;
  if (value[MARK] === SECRET) return new Secret(decodeValue(value['value']));
  // Providers get the id of a resource.
  if (value[MARK] === RESOURCE) return decodeValue(value['id']);
  if (FILES.includes(String(value[MARK]))) {
    const { [MARK]: _mark, ...content } = value;
    return mapValues(content, decodeValue);
  }
  if (MARK in value) throw new Error(`a value of an unexpected kind: ${String(value[MARK])}`);
  return mapValues(value, decodeValue);
}

export function encode(properties: Properties): Properties {
  return encodeValue(properties) as Properties;
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

/** Paths of all nested values for which this holds, e.g. `spec.ports[0].port`. */
export function pathsWhere(value: unknown, holds: (each: unknown) => boolean, at = ''): string[] {
  if (holds(value)) return [at];
  if (Array.isArray(value)) return value.flatMap((each, index) => pathsWhere(each, holds, `${at}[${index}]`));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    pathsWhere(each, holds, at === '' ? key : `${at}.${key}`),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
}

function mapValues(record: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** A copy with another value at the path, e.g. `spec.replicas`; undefined removes the key. */
export function withValueAt(value: Properties, path: string, next: unknown): Properties {
  const [key = '', ...rest] = path.split('.');
  const { [key]: inner, ...others } = value;
  if (rest.length > 0) {
    return { ...others, [key]: withValueAt(isRecord(inner) ? inner : {}, rest.join('.'), next) };
  }
  return next === undefined ? others : { ...others, [key]: next };
}
