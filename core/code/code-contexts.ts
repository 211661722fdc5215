import { type CodeContext, codeContext, codeContexts } from '#protocol/guest/code-protocol.ts';
import { PortholeError } from '#base/errors.ts';
import { type AnswerSchema, emptyAnswer, jsonAnswer } from '../processes/guest-answers.ts';
import { type GuestDeps, withCodes } from '../processes/reach-guest.ts';
import type { PortsRef } from '../processes/sandbox-ports.ts';
import type { GuestCall } from '../sandboxes/sandbox-provider.ts';
import { callCodeServer } from './code-server.ts';

/** Until a kernel has started, in ms; a little more than the server itself waits. */
const STARTS_WITHIN = 70_000;

const CONTEXT_ID = /^[\w-]{1,64}$/;

/** @throws PortholeError `context_not_found`, also for what can be no id */
function pathOf(id: string): string {
  if (CONTEXT_ID.test(id)) return `/contexts/${id}`;
  throw new PortholeError('context_not_found', `There is no context ${JSON.stringify(id.slice(0, 64))}`, {
    remedy: 'list the contexts of the sandbox, or create one.',
  });
}

/** In the order of their creation. */
export function listCodeContexts(deps: GuestDeps, ref: PortsRef): Promise<readonly CodeContext[]> {
  return ask(deps, ref, { method: 'GET', path: '/contexts' }, codeContexts);
}

/** @throws PortholeError `invalid_request` for another language or folder, `too_many_processes` */
export function createCodeContext(
  deps: GuestDeps,
  ref: PortsRef,
  body: { readonly language?: string | undefined; readonly cwd?: string | undefined },
): Promise<CodeContext> {
  return ask(deps, ref, { method: 'POST', path: '/contexts', body }, codeContext);
}

/** @throws PortholeError `context_not_found` */
export async function deleteCodeContext(deps: GuestDeps, ref: PortsRef, id: string): Promise<void> {
  await change(deps, ref, { method: 'DELETE', path: pathOf(id) });
}

/**
 * A restart ends what runs, and its variables are lost; an interrupt keeps them where the language
 * can. @throws PortholeError `context_not_found`
 */
export async function changeCodeContext(
  deps: GuestDeps,
  ref: PortsRef,
  id: string,
  what: 'restart' | 'interrupt',
): Promise<void> {
  await change(deps, ref, { method: 'POST', path: `${pathOf(id)}/${what}` });
}

type Ask = Omit<GuestCall, 'port' | 'answerWithin'>;

async function ask<T>(deps: GuestDeps, ref: PortsRef, call: Ask, schema: AnswerSchema<T>): Promise<T> {
  return jsonAnswer(await answerTo(deps, ref, call), ref.sandboxId, schema);
}

async function change(deps: GuestDeps, ref: PortsRef, call: Ask): Promise<void> {
  await emptyAnswer(await answerTo(deps, ref, call), ref.sandboxId);
}

function answerTo(deps: GuestDeps, ref: PortsRef, call: Ask) {
  const answer = callCodeServer(deps, ref, { ...call, answerWithin: STARTS_WITHIN });
  return withCodes(answer, { not_found: 'context_not_found' });
}
