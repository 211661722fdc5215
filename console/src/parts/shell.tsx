import { type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { useIsOnlyUser, usePerson } from '../live/person.ts';
import { SessionContext, useConnection, useWindowEvent } from '../live/use-live.ts';
import { useLinkedPages } from '../pages/console-pages.tsx';
import type { Palette } from './command-palette.tsx';
import { Button, Icon } from './elements.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { lazyPart } from './lazy-part.tsx';

// Loaded with its first use.
const CommandPalette = lazyPart(() => import('./command-palette.tsx'), null);

interface ShellProps {
  readonly waiting: number;
  readonly children: ReactNode;
}

/** The frame of every page: navigation and user. */
export function Shell({ waiting, children }: ShellProps) {
  const [location] = useLocation();
  const { user, org, admin } = usePerson();
  const isOnlyUser = useIsOnlyUser();
  const pages = useLinkedPages();
  const current = location.startsWith('/runs/') ? '/' : `/${location.split('/')[1] ?? ''}`;
  const heading = usePageHeading(location);
  useNewBuild(location);
  const { over } = useContext(SessionContext);
  useEffect(() => {
    if (over) return;
    const page = heading === '' ? 'Porthole' : `${heading} · Porthole`;
    document.title = waiting > 0 ? `(${waiting}) ${page}` : page;
  }, [heading, waiting, over]);
  const [palette, setPalette] = useState<Palette>();
  usePaletteKeys(setPalette);
  const signOut = async () => {
    await call('DELETE /api/session').catch(() => undefined);
    window.location.assign('/');
  };
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <header className="side">
        <Link href="/" className="brand">
          <Icon name="porthole" />
          Porthole
        </Link>
        <nav aria-label="Pages">
          {pages.map(({ href, name, icon }) => (
            <Link key={href} href={href} aria-current={href === current ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{name}</span>
            </Link>
          ))}
        </nav>
        <Button className="find" aria-keyshortcuts="Control+K" onPress={() => setPalette('commands')}>
          <Icon name="find" />
          <span>Find</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </Button>
        <div className="who">
          <Button variant="plain" aria-keyshortcuts="?" onPress={() => setPalette('keys')}>
            Keyboard
          </Button>
          <a href="/v1/openapi">API</a>
          {isOnlyUser ? (
            <span className="quiet">local</span>
          ) : (
            <>
              <span className="quiet" title={org}>
                {user}
                {admin ? ' · admin' : ''}
              </span>
              <Button variant="plain" onPress={() => void signOut()}>
                Sign out
              </Button>
            </>
          )}
        </div>
      </header>
      <main id="page" tabIndex={-1}>
        <LostConnection />
        <ErrorBoundary at={location}>{children}</ErrorBoundary>
      </main>
      {palette === undefined ? null : <CommandPalette shown={palette} onShow={setPalette} />}
    </div>
  );
}

/** The one message about a lost connection; it goes when the connection is back. */
function LostConnection() {
  const { isLost } = useConnection();
  return (
    <p className={isLost ? 'lost' : 'hidden'} role="status">
      {isLost ? 'Can’t reach Porthole. Retrying…' : ''}
    </p>
  );
}

/** Ctrl-K opens the commands, and `?` the list of keys unless a text is typed. */
function usePaletteKeys(onShow: (shown: Palette) => void): void {
  useWindowEvent('keydown', (event) => {
    // Terminals and editors take their keys first.
    if (event.defaultPrevented || event.altKey) return;
    const [target] = event.composedPath();
    const types =
      target instanceof HTMLElement &&
      (target.isContentEditable || /^(?:INPUT|TEXTAREA)$/.test(target.tagName));
    const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === 'k';
    const isKeys = event.key === '?' && !types && !event.ctrlKey && !event.metaKey;
    if (!isFind && !isKeys) return;
    event.preventDefault();
    onShow(isFind ? 'commands' : 'keys');
  });
}

/**
 * The current first heading of the page: it changes when pages load and things are renamed. After
 * each navigation the heading is focused once it exists, unless the user has moved the focus into
 * the page: this announces the new page to screen readers.
 */
function usePageHeading(location: string): string {
  const [words, setWords] = useState('');
  const before = useRef(location);
  useEffect(() => {
    const page = document.getElementById('page');
    if (page === null) return undefined;
    let isToFocus = before.current !== location;
    before.current = location;
    const look = () => {
      const heading = page.querySelector('h1');
      if (heading === null) return;
      setWords(heading.textContent);
      if (!isToFocus) return;
      isToFocus = false;
      if (document.activeElement !== page && page.contains(document.activeElement)) return;
      heading.tabIndex = -1;
      heading.focus();
    };
    const observer = new MutationObserver(look);
    observer.observe(page, { subtree: true, childList: true, characterData: true });
    look();
    return () => observer.disconnect();
  }, [location]);
  return words;
}

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
function useNewBuild(location: string): void {
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
