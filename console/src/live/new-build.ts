import { useEffect } from 'react';

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
