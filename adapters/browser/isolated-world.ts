import type { CDPSession } from 'playwright-core';

/** A frame of a page, and the DevTools session that reaches it. */
export interface PageFrame {
  readonly cdp: CDPSession;
  readonly frameId: string;
}

/** An isolated world, which the page's scripts cannot reach: the same one in a document. */
export async function isolatedWorld({ cdp, frameId }: PageFrame): Promise<number> {
  const world = await cdp.send('Page.createIsolatedWorld', { frameId, worldName: 'porthole' });
  return world.executionContextId;
}

/** The value of an expression in the isolated world. Rejects with what it throws. */
export async function evaluateIsolated(frame: PageFrame, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = await frame.cdp.send('Runtime.evaluate', {
    expression,
    contextId: await isolatedWorld(frame),
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
  return result.value;
}
