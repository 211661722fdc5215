import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Viewport } from '#core/pages/page-browser.ts';
import { findBarriers } from './accessibility.ts';
import type { PageFrame } from './isolated-world.ts';
import { openOriginProxy, type OriginProxy } from './origin-proxy.ts';

/**
 * A blank page in its own fresh context, which reaches no host until its visit allows some. The
 * domains of DevTools that report what a page does are enabled.
 */
export interface PreparedPage extends PageFrame {
  readonly viewport: Viewport;
  readonly proxy: OriginProxy;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Whether it can still be visited: a renderer may end at any time. */
  isUsable(): boolean;
  /** Never rejects. Limited in time: a page that hangs does not answer. */
  close(): Promise<void>;
}

const CLOSE_MS = 3_000;

/** Opens it before its visit is known: a renderer takes a fifth of a second to start. */
export async function preparePage(browser: Browser, viewport: Viewport): Promise<PreparedPage> {
  const proxy = await openOriginProxy();
  let context: BrowserContext | undefined;
  const close = async (): Promise<void> => {
    // A hanging page blocks neither: its renderer ends with the context.
    proxy.close();
    const closed = context?.close().catch(() => undefined);
    await Promise.race([closed, pause(CLOSE_MS, undefined, { ref: false })]);
  };
  try {
    const { width, height, scale, mobile } = viewport;
    context = await browser.newContext({
      proxy: { server: proxy.url },
      viewport: { width, height },
      deviceScaleFactor: scale,
      isMobile: mobile,
      hasTouch: mobile,
      acceptDownloads: false,
      serviceWorkers: 'block',
      locale: 'en-US',
    });
    const page = await context.newPage();
    let hasCrashed = false;
    page.once('crash', () => (hasCrashed = true));
    const cdp = await context.newCDPSession(page);
    const [{ frameTree }] = await Promise.all([
      cdp.send('Page.getFrameTree'),
      cdp.send('Page.enable'),
      cdp.send('Network.enable', { maxTotalBufferSize: 32_000_000, maxResourceBufferSize: 8_000_000 }),
      cdp.send('Runtime.enable'),
      cdp.send('Log.enable'),
      cdp.send('Performance.enable'),
    ]);
    return {
      viewport,
      proxy,
      context,
      page,
      cdp,
      frameId: frameTree.frame.id,
      isUsable: () => !hasCrashed && !page.isClosed(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Does what a look does, on the blank page: V8 keeps the compiled code of its process, which the
 * visited page stays in. Saves half of the time that a look takes after the page has loaded.
 */
export async function warmUp(prepared: PreparedPage): Promise<void> {
  const { page } = prepared;
  await findBarriers(prepared);
  await page.locator('body').ariaSnapshot();
  await page.screenshot({ animations: 'disabled' });
}

export function isSameViewport(a: Viewport, b: Viewport): boolean {
  return a.width === b.width && a.height === b.height && a.scale === b.scale && a.mobile === b.mobile;
}
