/** A form field from a JSON Schema. */
export interface FormField {
  readonly name: string;
  readonly title: string;
  readonly hint: string;
  readonly required: boolean;
  /** `json` is for types without a control. */
  readonly kind: 'text' | 'long-text' | 'number' | 'boolean' | 'choice' | 'json';
  readonly isInteger: boolean;
  /** The options of a choice: any JSON. */
  readonly options: readonly unknown[];
  readonly initial: unknown;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Maximum fields of a form; a schema with more is edited as JSON. */
const MAX_FIELDS = 60;
/** Maximum options of one field. */
const MAX_OPTIONS = 200;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The fields of an object schema; undefined if a form cannot express every value that the schema
 * accepts.
 */
export function fieldsOf(schema: unknown): readonly FormField[] | undefined {
  if (!isObject(schema) || !isObject(schema['properties'])) return undefined;
  if (schema['type'] !== undefined && schema['type'] !== 'object') return undefined;
  if ('$ref' in schema || 'oneOf' in schema || 'anyOf' in schema) return undefined;
  const properties = Object.entries(schema['properties']);
  if (properties.length === 0 || properties.length > MAX_FIELDS) return undefined;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return properties.map(([name, property]) => fieldOf(name, property, required.includes(name)));
}

function fieldOf(name: string, property: unknown, required: boolean): FormField {
  const schema = isObject(property) ? property : {};
  const text = (key: string) => (typeof schema[key] === 'string' ? schema[key] : '');
  const number = (key: string) => (typeof schema[key] === 'number' ? schema[key] : undefined);
  const options = optionsOf(schema);
  return {
    name,
    title: text('title') || name,
    hint: text('description'),
    required,
    kind: options === undefined ? kindOf(schema) : 'choice',
    isInteger: schema['type'] === 'integer',
    options: options ?? [],
    initial: schema['default'],
    minimum: number('minimum'),
    maximum: number('maximum'),
  };
}

function optionsOf(schema: JsonObject): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  const options = schema['enum'];
  return Array.isArray(options) && options.length > 0 && options.length <= MAX_OPTIONS ? options : undefined;
}

function kindOf(schema: JsonObject): FormField['kind'] {
  switch (schema['type']) {
    case 'string': {
      const most = schema['maxLength'];
      return schema['format'] === 'textarea' || (typeof most === 'number' && most > 200)
        ? 'long-text'
        : 'text';
    }
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    default:
      return 'json';
  }
}

/** The initial values of a form: the defaults. */
export function defaultsOf(fields: readonly FormField[]): JsonObject {
  return Object.fromEntries(
    fields.filter(({ initial }) => initial !== undefined).map(({ name, initial }) => [name, initial]),
  );
}

/** A value as text in its field. */
export function shown(field: FormField, value: unknown): string {
  if (value === undefined) return '';
  if (field.kind === 'json') return JSON.stringify(value, null, 2);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export type ReadField =
  | { readonly value: unknown; readonly problem?: undefined }
  /** The field is omitted. */
  | { readonly value?: undefined; readonly problem?: string };

/** Parses the text of a field. An empty one is omitted. */
export function readField(field: FormField, text: string): ReadField {
  if (field.kind === 'text' || field.kind === 'long-text') return text === '' ? {} : { value: text };
  if (text.trim() === '') return {};
  if (field.kind === 'number') {
    const value = Number(text);
    if (!Number.isFinite(value)) return { problem: 'must be a number' };
    if (field.isInteger && !Number.isInteger(value)) return { problem: 'must be a whole number' };
    return { value };
  }
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return { problem: 'must be JSON' };
  }
}

/** Client-side problems of a value. The server validates it fully. */
export function problemOf(field: FormField, value: unknown): string | undefined {
  if (value === undefined) return field.required ? 'must not be empty' : undefined;
  if (typeof value !== 'number') return undefined;
  if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`;
  if (field.maximum !== undefined && value > field.maximum) return `must be at most ${field.maximum}`;
  return undefined;
}

/** The server's errors by field; errors of the whole input are under `''`. */
export function reasonsByField(reasons: readonly string[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const reason of reasons) {
    const pointer = /^\/([^/ ]*)((?:\/\S*)?) (.*)$/s.exec(reason);
    const missing = /^it must have required property '(.*)'$/.exec(reason);
    const name =
      missing?.[1] ??
      (pointer === null ? '' : (pointer[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~'));
    const words =
      missing !== null
        ? 'must not be empty'
        : pointer === null
          ? reason
          : `${pointer[2] === '' ? '' : `${pointer[2]} `}${pointer[3] ?? ''}`;
    found[name] = found[name] === undefined ? words : `${found[name]}; ${words}`;
  }
  return found;
}
