import { type CodeContext, codeContext, codeContexts } from '#protocol/guest/code-protocol.ts';
import { type AnswerSchema, emptyAnswer, jsonAnswer } from '../processes/guest-answers.ts';
import { type GuestDeps, withCodes } from '../processes/reach-guest.ts';
import type { PortsRef } from '../processes/sandbox-ports.ts';
import type { GuestCall } from '../sandboxes/sandbox-provider.ts';
import { callCodeServer } from './code-server.ts';

/** Until a kernel has started, in ms; a little more than the server itself waits. */
const STARTS_WITHIN = 70_000;

const one = (id: string) => `/contexts/${encodeURIComponent(id)}`;

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
export function deleteCodeContext(deps: GuestDeps, ref: PortsRef, id: string): Promise<void> {
  return change(deps, ref, { method: 'DELETE', path: one(id) });
}

/**
 * A restart ends what runs, and its variables are lost; an interrupt keeps them where the language
 * can. @throws PortholeError `context_not_found`
 */
export function changeCodeContext(
  deps: GuestDeps,
  ref: PortsRef,
  id: string,
  what: 'restart' | 'interrupt',
): Promise<void> {
  return change(deps, ref, { method: 'POST', path: `${one(id)}/${what}` });
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
