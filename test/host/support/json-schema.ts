/** The subset of JSON Schema (draft 2020-12) in Porthole's OpenAPI document. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
      }
    >
  >;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly security?: readonly unknown[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** Violations of the schema, one line each; unknown fields are violations, too. */
export function matchesSchema(
  value: unknown,
  schema: JsonSchema,
  document: OpenApiDocument,
  at = '$',
): string[] {
  if (schema.$ref !== undefined) {
    const target = document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
    return target === undefined
      ? [`${at}: ${schema.$ref} leads nowhere`]
      : matchesSchema(value, target, document, at);
  }
  if (schema.anyOf !== undefined) {
    const tries = schema.anyOf.map((each) => matchesSchema(value, each, document, at));
    return tries.some((problems) => problems.length === 0)
      ? []
      : [`${at}: fits none of ${tries.flat().join('; ')}`];
  }
  if (schema.const !== undefined && value !== schema.const)
    return [`${at}: not ${JSON.stringify(schema.const)}`];
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${at}: none of ${schema.enum.join()}`];
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
  if (types !== undefined && !types.some((type) => isOfType(value, type)))
    return [
      `${at}: not ${types.map((type) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`)).join(' or ')}`,
    ];
  if (schema.pattern !== undefined && typeof value === 'string' && !new RegExp(schema.pattern).test(value))
    return [`${at}: not of the form ${schema.pattern}`];
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return [];
    return value.flatMap((each, index) => matchesSchema(each, items, document, `${at}[${index}]`));
  }
  if (typeof value !== 'object' || value === null) return [];
  const { properties = {}, required = [], additionalProperties = false } = schema;
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const own = properties[name] ?? properties[inSnakeCase(name)];
      if (own === undefined && additionalProperties !== false) return [];
      return own === undefined
        ? [`${at}.${name}: not documented`]
        : matchesSchema(inner, own, document, `${at}.${name}`);
    }),
  ];
}

/** Some fields have a second name, in camelCase, which the document leaves out. */
function inSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
