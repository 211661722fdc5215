import { useEffect } from 'react';
import { checkConnection, whenConnected } from './connection.ts';

/** Digest of the sources of this page's build, equal to the server's `ETag`. Set by the build. */
declare const BUILD_DIGEST: string;

const EVERY_MS = 60_000;

let isNewer = false;

/** Checks whether the server has another build than this page's. */
async function look(): Promise<void> {
  try {
    const response = await fetch('/', { headers: { 'if-none-match': `"${BUILD_DIGEST}"` } });
    const tag = response.headers.get('etag');
    // No build exists while it is being replaced.
    isNewer = response.ok && tag !== null && !tag.includes(BUILD_DIGEST);
  } catch {
    // Retried later.
  }
}

/** After a new build, reloads at the next navigation: the current page is never interrupted. */
export function useNewBuild(location: string): void {
  useEffect(() => {
    const lookIfSeen = () => {
      if (document.visibilityState === 'visible') void look();
    };
    const timer = setInterval(lookIfSeen, EVERY_MS);
    document.addEventListener('visibilitychange', lookIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', lookIfSeen);
    };
  }, []);
  useEffect(() => {
    if (isNewer) window.location.reload();
  }, [location]);
}

/**
 * Loads a part of the page. One that fails with the connection is loaded once that is back.
 * Otherwise it is of an old build, which a new one has replaced: reloading the page loads that. At
 * most once: a part missing from a freshly loaded page would be missing again; then this rejects.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!(await checkConnection())) {
      await new Promise<void>((resolve) => void whenConnected(resolve));
      // Vite does not load a style sheet again while its element is there.
      const [, style] = /CSS for (\S+)/.exec(String(error)) ?? [];
      if (style !== undefined) document.querySelector(`link[href=${JSON.stringify(style)}]`)?.remove();
      return loadPart(load);
    }
    const [entry] = performance.getEntriesByType('navigation');
    if (entry instanceof PerformanceNavigationTiming && entry.type === 'reload') throw error;
    window.location.reload();
    return new Promise<never>(() => undefined);
  }
}
