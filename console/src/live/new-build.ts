import { useEffect } from 'react';

/**
 * Digest of the sources of the build that this page is of, as the server's `ETag` has it. Put in by
 * the build.
 */
declare const BUILD_DIGEST: string;

const EVERY_MS = 60_000;

let isNewer = false;

/** Whether the server has another build than this page is of, as far as it has been asked. */
async function look(): Promise<void> {
  try {
    const response = await fetch('/', { headers: { 'if-none-match': `"${BUILD_DIGEST}"` } });
    const tag = response.headers.get('etag');
    // No build exists while it is being replaced.
    isNewer = response.ok && tag !== null && !tag.includes(BUILD_DIGEST);
  } catch {
    // Asked again later.
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
 * A part of an old build is gone once there is a new one: the page is loaded again, which brings
 * the new one. Once only, as a part that is missing from a page that was just loaded would be
 * missing again; then the page says so.
 */
export function reloadForMissingParts(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const [entry] = performance.getEntriesByType('navigation');
    if (entry instanceof PerformanceNavigationTiming && entry.type === 'reload') return;
    event.preventDefault();
    window.location.reload();
  });
}
