import { type FormEvent, useEffect, useRef } from 'react';
import { Form } from 'react-aria-components';
import { call } from '../api/client.ts';
import { useAnswer, useAttempt, useVisible } from '../live/use-live.ts';
import { Button, formText, Icon, Problem, TextInput } from '../parts/elements.tsx';

const BEGIN_ANEW = 'Sign in again.';

/** Errors of the identity provider, by the callback's code. */
const PROBLEMS: Readonly<Record<string, string>> = {
  denied:
    'The identity provider refused the sign-in, or you cancelled it. Sign in again, or ask your administrator.',
  expired: `It took longer than ten minutes, or was started in another browser. ${BEGIN_ANEW}`,
  mismatch: `The response belongs to another sign-in, such as one in another tab. ${BEGIN_ANEW}`,
  wrong_issuer: `The response is not from the identity provider of this Porthole. ${BEGIN_ANEW}`,
  not_vouched:
    'The identity provider’s answer isn’t valid: it was used before, is for another app, or names no org. Sign in again. If it fails again, ask your administrator.',
  provider_error: `The identity provider reports an error. ${BEGIN_ANEW}`,
  unavailable: 'The identity provider cannot be asked right now. Try again in a moment.',
};

/** Reads the callback's error and removes it from the address, so that it is shown once. */
function takeProblem(): string | undefined {
  const url = new URL(location.href);
  const problem = url.searchParams.get('sign-in');
  if (problem === null) return undefined;
  url.searchParams.delete('sign-in');
  history.replaceState(history.state, '', url);
  return PROBLEMS[problem] ?? BEGIN_ANEW;
}

/** The API's limit. */
const MAX_PATH_CHARS = 1_000;

function herePath(): string {
  const path = `${location.pathname}${location.search}${location.hash}`;
  return path.length > MAX_PATH_CHARS ? '/' : path;
}

export interface SignInPageProps {
  /** Whether a session has just ended: its page is hidden behind this one. */
  readonly wasSignedIn: boolean;
  readonly onSignedIn: () => void;
}

/** Sign-in with an API key or at the identity provider. The key is sent once and never stored. */
export function SignInPage({ wasSignedIn, onSignedIn }: SignInPageProps) {
  const { value: ways, problem: unreachable, reload } = useAnswer('GET /api/sign-in');
  const { busy, problem, setProblem, attempt } = useAttempt();
  const visible = useVisible();
  useEffect(() => {
    document.title = 'Sign in · Porthole';
    setProblem((before) => takeProblem() ?? before);
  }, []);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (wasSignedIn) heading.current?.focus();
  }, [wasSignedIn]);
  useEffect(() => {
    // The user may have signed in in another tab.
    if (wasSignedIn && visible) onSignedIn();
  }, [wasSignedIn, visible]);
  const withKey = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = formText(new FormData(form), 'key');
    void attempt(async () => {
      await call('POST /api/session', { body: { key: key } });
      form.reset();
      onSignedIn();
    });
  };
  const atProvider = () =>
    void attempt(async () => {
      const { url } = await call('POST /api/session/oidc', { body: { return_to: herePath() } });
      // In another tab if this one has unsaved work; the opener policy isolates the two.
      if (!wasSignedIn || window.open(url, '_blank') === null) location.assign(url);
    });
  return (
    <main className="center">
      <div className="sign-in">
        <p className="brand">
          <Icon name="porthole" />
          Porthole
        </p>
        <h1 ref={heading} tabIndex={-1}>
          {wasSignedIn ? 'Sign in again' : 'Sign in'}
        </h1>
        {wasSignedIn ? <p role="status">Your session has ended. Sign in to continue.</p> : null}
        {ways?.needed === true && ways.methods.length === 0 ? (
          <p>
            Browser sign-in isn’t configured: only the key of a sandbox service is. Ask your administrator.
          </p>
        ) : null}
        {ways?.methods.includes('oidc') === true ? (
          <Button variant="primary" onPress={atProvider} isDisabled={busy}>
            Continue with your identity provider
          </Button>
        ) : null}
        {ways?.methods.includes('key') === true ? (
          <Form onSubmit={withKey}>
            <TextInput
              label="API key"
              name="key"
              type="password"
              autoComplete="off"
              isRequired
              hint="The browser does not store it: you get a session of twelve hours."
            />
            <Button type="submit" isDisabled={busy} variant={ways.methods.length > 1 ? 'normal' : 'primary'}>
              Sign in
            </Button>
          </Form>
        ) : null}
        <Problem words={problem ?? unreachable} {...(unreachable !== undefined && { onRetry: reload })} />
      </div>
    </main>
  );
}
