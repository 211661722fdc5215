/** The schemas of tools as models read them: clients pay for each list with their context. */
import type { Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';

type Schema = Tool['inputSchema'];

/** Checked by the server, which names the limit: not worth the context of a model. */
const UNSHOWN: ReadonlySet<string> = new Set([
  'example',
  'pattern',
  'minLength',
  'maxLength',
  'additionalProperties',
]);

/**
 * An input schema without limits of texts, with each description once, and with one shape for the
 * variants of an object.
 */
export function inputSchemaOf(input: z.ZodObject): Schema {
  const { additionalProperties, ...schema } = jsonSchema(input, 'input');
  const described = new Set<unknown>();
  const shown = (key: string, value: unknown): unknown => {
    // A tool may have an argument of that name, which is an object here.
    if (typeof value === 'object') return Array.isArray(value) || value === null ? value : merged(value);
    if (UNSHOWN.has(key)) return undefined;
    if (key !== 'description') return value;
    const isKnown = described.has(value);
    described.add(value);
    return isKnown ? undefined : value;
  };
  return { ...(JSON.parse(JSON.stringify(schema, shown)) as Schema), additionalProperties };
}

/**
 * An output schema with the names of its first level alone: it allows all that the whole one
 * allows, and the results show the rest.
 */
export function outputSchemaOf(output: z.ZodObject): Schema {
  const { type, properties = {} } = jsonSchema(output, 'output');
  return { type, properties: Object.fromEntries(Object.keys(properties).map((name) => [name, {}])) };
}

function jsonSchema(schema: z.ZodObject, io: 'input' | 'output'): Schema {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io, metadata: new Descriptions() });
  return plain as Schema;
}

/** Without ids: named schemas would become references, which not every client follows. */
class Descriptions extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get(schema: z.core.$ZodType) {
    const meta = z.globalRegistry.get(schema);
    return meta && { ...meta, id: undefined };
  }
}

interface Property {
  readonly type?: string;
  readonly enum?: readonly string[];
}

interface Variant {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

interface Union {
  readonly oneOf?: readonly object[];
  readonly anyOf?: readonly object[];
}

/** A union in which one shape takes the place of all objects. It allows more; the server checks. */
function merged(schema: object): object {
  const { oneOf, anyOf, ...rest } = schema as Union;
  const members = oneOf ?? anyOf ?? [];
  const variants = members.filter(isVariant);
  if (variants.length < 2) return schema;
  const others = members.filter((each) => !isVariant(each));
  const shape = mergedShape(variants);
  return others.length === 0 ? { ...rest, ...shape } : { ...rest, anyOf: [...others, shape] };
}

function isVariant(schema: object): schema is Variant {
  return 'type' in schema && schema.type === 'object' && 'properties' in schema;
}

/** The arguments of all variants; the description has those of each, `?` for an optional one. */
function mergedShape(variants: readonly Variant[]): object {
  const properties: Record<string, Property> = {};
  const lines: string[] = [];
  for (const { properties: own, required = [] } of variants) {
    const names: string[] = [];
    for (const [name, property] of Object.entries(own)) {
      const { enum: more } = property;
      const known = properties[name];
      properties[name] = { ...known, ...property, ...(more && { enum: [...(known?.enum ?? []), ...more] }) };
      if (more === undefined) names.push(required.includes(name) ? name : `${name}?`);
      else lines.push(`${more.join(', ')}: `);
    }
    if (lines.length > 0) lines.push(`${names.join(', ')}. `);
  }
  const required = Object.keys(properties).filter((name) =>
    variants.every((each) => each.required?.includes(name)),
  );
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    ...(lines.length > 0 && { description: lines.join('').trim() }),
  };
}
