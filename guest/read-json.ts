import type { IncomingMessage } from 'node:http';
import * as z from 'zod/mini';
import { MAX_JSON } from '../protocol/guest/http-protocol.ts';
import { bodyOf, GuestError } from './router.ts';

/**
 * The body of a request as JSON that fits the schema. @throws GuestError `invalid_request`,
 * `payload_too_large`
 */
export async function readJson<T>(request: IncomingMessage, schema: z.ZodMiniType<T>): Promise<T> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bodyOf(request)) {
    length += chunk.length;
    if (length > MAX_JSON) throw new GuestError('payload_too_large', `The body is over ${MAX_JSON} bytes.`);
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks).toString(), schema);
}

/** @throws GuestError `invalid_request` */
export function parseJson<T>(text: string, schema: z.ZodMiniType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new GuestError('invalid_request', 'The body is no JSON. Send a JSON object.');
  }
  return parse(value, schema);
}

/** @throws GuestError `invalid_request` that names the first invalid field */
export function parse<T>(value: unknown, schema: z.ZodMiniType<T>): T {
  const result = z.safeParse(schema, value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new GuestError(
    'invalid_request',
    `${path === '' ? 'The request' : path}: ${issue?.message ?? 'is wrong'}.`,
  );
}
