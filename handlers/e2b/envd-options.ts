/** What all calls of E2B's data plane share. */
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import type { HttpEvent } from '../http/http-event.ts';
import type { Received } from '../route.ts';
import { GUEST_ERRORS } from '../sandboxes/sandbox-path.ts';
import { e2bErrorShape } from './e2b-errors.ts';

/** Names the sandbox of a call. */
export const SANDBOX_HEADER = 'E2b-Sandbox-Id';
export const RECEIVED_HEADER = 'e2b-sandbox-id';

/** The sandbox and the credential are in headers of E2B. */
export function fromEnvd(event: Pick<HttpEvent, 'headers' | 'pathParameters'>): Received {
  const { [RECEIVED_HEADER]: id = '', 'x-access-token': token, ...headers } = event.headers;
  checkUser(headers['authorization']);
  return {
    headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    pathParameters: { ...event.pathParameters, id },
  };
}

/** `Authorization: Basic` chooses the user of a command. @throws PortholeError `forbidden` */
function checkUser(authorization: string | undefined): void {
  const encoded = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return;
  const [user = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  checkUserName(user);
}

export function checkUserName(user: string | undefined): void {
  if (user === undefined || user === '' || user === 'user') return;
  throw new PortholeError('forbidden', `user: ${JSON.stringify(user.slice(0, 40))} does not exist here`, {
    remedy: 'leave it out: commands run as the user of the sandbox, without root.',
  });
}

export const EnvdPath = z.object({ id: z.string().max(400) });
/** Of a route that is no call of the Connect protocol. */
export const envd = {
  tag: 'E2B',
  agents: true,
  receives: fromEnvd,
  idHeader: SANDBOX_HEADER,
  errorShape: e2bErrorShape,
  params: EnvdPath,
  errors: GUEST_ERRORS,
} as const;
