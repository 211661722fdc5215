import type { Callable } from './runs.ts';

export interface Key {
  readonly key_id: string;
  readonly key: string;
  readonly prefix: string;
  readonly scope: string;
  readonly admin: boolean;
  readonly expires_at: string;
  readonly last_used_at: string | null;
}

export async function makeKey(
  porthole: Callable,
  token: string | undefined,
  body: object = {},
): Promise<Key> {
  const answer = await porthole.call('POST', '/api/keys', {
    body: { name: 'CI', scope: 'full', ...body },
    ...(token !== undefined && { token }),
  });
  if (answer.status !== 201) throw new Error(`no key: ${answer.status} ${answer.text}`);
  return answer.json<Key>();
}

export const statusWith = async (porthole: Callable, token: string, path = '/api/session') =>
  (await porthole.call('GET', path, { token })).status;

export const listed = async (porthole: Callable, token: string, path = '/api/keys') =>
  (await porthole.call('GET', path, { token })).json<{ keys: Key[] }>().keys;
