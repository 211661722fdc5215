import * as z from 'zod/v4/core';

/** Any schema of `protocol/guest`. */
export interface AnswerSchema<T> {
  parse(value: unknown): T;
}

/** Undefined: go on. */
export type Pause = () => Promise<void> | undefined;

/**
 * Like `schema.parse`, with a pause between the items of arrays. The first item that does not fit
 * ends it: a schema alone would check them all, and describe each fault.
 * @throws Error for a value that does not fit
 */
export async function parseInTurns<T>(schema: AnswerSchema<T>, value: unknown, pause: Pause): Promise<T> {
  if (!(schema instanceof z.$ZodType)) return schema.parse(value);
  return (await fit(schema, value, pause)) as T;
}

async function fit(schema: z.$ZodType, value: unknown, pause: Pause): Promise<unknown> {
  if (value == null || !hasItems(schema)) return fitAtOnce(schema, value);
  if (schema instanceof z.$ZodNullable || schema instanceof z.$ZodOptional) {
    return fit(schema._zod.def.innerType, value, pause);
  }
  if (schema instanceof z.$ZodArray && Array.isArray(value)) {
    const most = maxItems(schema);
    if (value.length > most) throw new Error(`an array of over ${most} items`);
    const { element } = schema._zod.def;
    const fitting: unknown[] = [];
    for (const item of value) {
      const turn = pause();
      if (turn !== undefined) await turn;
      fitting.push(hasItems(element) ? await fit(element, item, pause) : fitAtOnce(element, item));
    }
    return fitting;
  }
  if (schema instanceof z.$ZodObject && typeof value === 'object' && !Array.isArray(value)) {
    const fitting: Record<string, unknown> = {};
    for (const [key, member] of Object.entries(schema._zod.def.shape)) {
      const given = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
      const fits = await fit(member, given, pause);
      if (fits !== undefined) fitting[key] = fits;
    }
    return fitting;
  }
  return fitAtOnce(schema, value);
}

function maxItems({ _zod: { def } }: z.$ZodArray): number {
  for (const { _zod: check } of def.checks ?? []) {
    if (check.def.check === 'max_length') return (check.def as z.$ZodCheckMaxLengthDef).maximum;
  }
  return Infinity;
}

function fitAtOnce(schema: z.$ZodType, value: unknown): unknown {
  const { success, data, error } = z.safeParse(schema, value);
  if (success) return data;
  const [first] = error.issues;
  throw new Error(`${first?.path.join('.')}: ${first?.message}`);
}

const known = new WeakMap<z.$ZodType, boolean>();

/** Whether a schema has arrays that are read item by item. */
function hasItems(schema: z.$ZodType): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const has = holdsArray(schema);
  known.set(schema, has);
  return has;
}

function holdsArray(schema: z.$ZodType): boolean {
  if (schema instanceof z.$ZodArray) return true;
  if (schema instanceof z.$ZodNullable || schema instanceof z.$ZodOptional) {
    return hasItems(schema._zod.def.innerType);
  }
  if (!(schema instanceof z.$ZodObject)) return false;
  return Object.values(schema._zod.def.shape).some((member) => hasItems(member));
}
