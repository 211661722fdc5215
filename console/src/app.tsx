import { useCallback, useEffect, useRef, useState } from 'react';
import { RouterProvider } from 'react-aria-components';
import { Route, Switch, useLocation } from 'wouter';
import { ApiError, call, onSignedOut } from './api/client.ts';
import { ApprovalDock } from './approvals/approval-dock.tsx';
import { askingRun, questionOf } from './approvals/approval-labels.ts';
import { type Approvals, useApprovals } from './approvals/use-approvals.ts';
import { whenConnected } from './live/connection.ts';
import { notificationState } from './live/notifications.ts';
import { type Person, PersonContext } from './live/person.ts';
import { problemOf, SessionContext, type SessionState } from './live/use-live.ts';
import { useConsolePages } from './pages/console-pages.tsx';
import { SignInPage } from './pages/sign-in-page.tsx';
import { Missing, Pending } from './parts/elements.tsx';
import { Shell } from './parts/shell.tsx';

/**
 * Loads the session, then the page of the address. If a session ends during work, the page stays
 * mounted and hidden behind the sign-in, with the typed text, for the same person.
 */
export function App() {
  const [session, setSession] = useState<Person>();
  const [state, setState] = useState<SessionState>({ over: false, count: 0 });
  const [problem, setProblem] = useState<string>();
  const [, navigate] = useLocation();
  const look = useCallback(async () => {
    try {
      setSession(await call('GET /api/session'));
      setProblem(undefined);
      setState(({ over, count }) => ({ over: false, count: over ? count + 1 : count }));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) setState(({ count }) => ({ over: true, count }));
      else {
        setProblem(problemOf(error));
        if (!(error instanceof ApiError)) void whenConnected(() => void look());
      }
    }
  }, []);
  useEffect(() => {
    onSignedOut(() => setState((before) => (before.over ? before : { ...before, over: true })));
    void look();
  }, [look]);
  useEffect(() => {
    // The focus was in the sign-in, which is gone.
    if (state.count > 0) document.getElementById('page')?.focus();
  }, [state.count]);

  const signIn = state.over ? (
    <SignInPage wasSignedIn={session !== undefined} onSignedIn={() => void look()} />
  ) : null;
  if (session === undefined) {
    if (signIn !== null) return signIn;
    return (
      <main className="center">
        <Pending words={problem} onRetry={() => void look()} />
      </main>
    );
  }
  return (
    <>
      {signIn}
      <SessionContext value={state}>
        <div hidden={state.over}>
          <RouterProvider navigate={navigate}>
            <SignedIn key={`${session.org} ${session.user}`} person={session} />
          </RouterProvider>
        </div>
      </SessionContext>
    </>
  );
}

/** An invalid encoding in a crafted address matches no name. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function SignedIn({ person }: { readonly person: Person }) {
  const approvals = useApprovals();
  useNotifications(approvals);
  return (
    <PersonContext value={person}>
      <Shell waiting={approvals.following ? approvals.waiting.length : 0}>
        <Pages />
      </Shell>
      <ApprovalDock waiting={approvals.waiting} forget={approvals.forget} user={person.user} />
    </PersonContext>
  );
}

function Pages() {
  const pages = useConsolePages();
  return (
    <Switch>
      {pages.map(({ path, show }) => (
        <Route<{ readonly id?: string }> key={path} path={path}>
          {({ id = '' }) => show({ id: decoded(id) })}
        </Route>
      ))}
      <Route>
        <Missing what="page" />
      </Route>
    </Switch>
  );
}

/** Shows a browser notification for each new request while the tab is hidden, if permitted. */
function useNotifications({ waiting, following }: Pick<Approvals, 'waiting' | 'following'>): void {
  const known = useRef(new Set<string>());
  useEffect(() => {
    const begun = waiting.filter(({ request_id: id }) => !known.current.has(id));
    known.current = new Set(waiting.map(({ request_id: id }) => id));
    if (!following || document.visibilityState === 'visible') return;
    if (notificationState() !== 'on') return;
    for (const approval of begun) {
      try {
        const notification = new Notification(questionOf(approval), {
          body: `The agent of ${askingRun(approval)} asks.`,
          tag: approval.request_id,
        });
        notification.addEventListener('click', () => {
          window.focus();
          notification.close();
        });
      } catch {
        // Some browsers allow them only in service workers.
      }
    }
  }, [waiting, following]);
}
