import type { Api } from '../api/api.ts';
import { formText } from '../parts/elements.tsx';
import { isName, readPairs } from './sandbox-fields.ts';

type Body = NonNullable<Api['POST /v1/sandbox']['body']>;

/** The request of a filled form, or its client-side problems by field. */
export function readNewSandbox(
  form: FormData,
): { readonly body: Body } | { readonly errors: Readonly<Record<string, string>> } {
  const errors: Record<string, string> = {};
  const number = (field: string) => {
    const text = formText(form, field).replace(',', '.');
    if (text === '') return undefined;
    const value = Number(text);
    if (!Number.isFinite(value)) errors[field] = 'This is no number.';
    return value;
  };
  const pairs = (field: 'tags' | 'env', sign: ':' | '=') => {
    const text = form.get(field);
    const read = readPairs(typeof text === 'string' ? text : '', sign);
    if ('pairs' in read) return read.pairs;
    errors[field] = `A line is no ${sign === ':' ? 'key:value' : 'NAME=value'}.`;
    return {};
  };
  const name = formText(form, 'name');
  if (name !== '' && !isName(name)) {
    errors['name'] = '1 to 63 letters, digits, “_”, “.” or “-”, beginning with a letter or digit.';
  }
  const image = formText(form, 'image');
  const session = formText(form, 'session_key');
  const resources = withoutNothing({
    cpu: number('cpu'),
    memory_mb: number('memory_mb'),
    disk_mb: number('disk_mb'),
  });
  const ttl = number('ttl_seconds');
  const tags = pairs('tags', ':');
  const env = pairs('env', '=');
  const skills = form.getAll('skills').map(String);
  if (Object.keys(errors).length > 0) return { errors };
  return {
    body: {
      ...(name === '' ? {} : { name }),
      ...(image === '' || image === 'default' ? {} : { image }),
      ...(Object.keys(resources).length === 0 ? {} : { resources }),
      ...(skills.length === 0 ? {} : { skills }),
      ...(form.get('network') === null ? {} : { network: true }),
      ...(session === '' ? {} : { session_key: session }),
      ...(ttl === undefined ? {} : { ttl_seconds: ttl }),
      ...(Object.keys(tags).length === 0 ? {} : { tags }),
      ...(Object.keys(env).length === 0 ? {} : { env }),
    },
  };
}

function withoutNothing(fields: Readonly<Record<string, number | undefined>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
