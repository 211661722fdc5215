import type { PluginExecutionMode } from '@middy/core';
import type { ChainEvent, Step } from './admit.ts';
import type { HttpResponse } from './http-event.ts';

type Hook = NonNullable<Step['before']>;
type ChainState = Parameters<Hook>[0];

/**
 * middy's execution mode for our chains. Unlike in its standard mode, a request has no
 * AbortController and no time limit of Lambda, and the chain is one promise. Steps do not answer
 * early: they throw.
 */
function runChain(
  { middyRequest }: { middyRequest: (event: ChainEvent, context: object) => ChainState },
  before: readonly Hook[],
  handler: (event: ChainEvent) => Promise<HttpResponse>,
  after: readonly Hook[],
  onError: readonly Hook[],
) {
  return async (event: ChainEvent, context: object): Promise<HttpResponse> => {
    const state = middyRequest(event, context);
    try {
      for (const step of before) {
        const waiting = step(state) as Promise<void> | undefined;
        if (waiting !== undefined) await waiting;
      }
      state.response = await handler(event);
      for (const step of after) step(state);
    } catch (error) {
      state.response = undefined;
      state.error = error;
      for (const step of onError) step(state);
    }
    if (state.response == null) throw state.error;
    return state.response;
  };
}

/** middy's type has no parameters. */
export const chainMode = runChain as unknown as PluginExecutionMode;
