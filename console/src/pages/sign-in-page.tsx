import { type FormEvent, useState } from 'react';
import { Form } from 'react-aria-components';
import { call } from '../api/client.ts';
import { problemOf, useAnswer } from '../live/use-live.ts';
import { Button } from '../parts/button.tsx';
import { Problem } from '../parts/feedback.tsx';
import { Icon } from '../parts/icon.tsx';
import { formText } from '../parts/form-text.ts';
import { TextInput } from '../parts/text-input.tsx';

const FAILED =
  'The identity provider did not vouch for you, or you took longer than ten minutes: sign in again.';

/** Signing in with an API key, or at the identity provider. The key is sent once and kept nowhere. */
export function SignInPage({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const { value: ways, problem: unreachable } = useAnswer('GET /api/sign-in');
  const [problem, setProblem] = useState(() =>
    new URLSearchParams(location.search).get('sign-in') === 'failed' ? FAILED : undefined,
  );
  const [busy, setBusy] = useState(false);
  const attempt = async (way: () => Promise<void>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await way();
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
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
      const { url } = await call('POST /api/session/oidc');
      location.assign(url);
    });
  return (
    <main className="center">
      <div className="sign-in">
        <p className="brand">
          <Icon name="porthole" />
          Porthole
        </p>
        <h1>Sign in</h1>
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
              hint="It is kept in no browser: you get a session of twelve hours."
            />
            <Button type="submit" isDisabled={busy} variant={ways.methods.length > 1 ? 'normal' : 'primary'}>
              Sign in
            </Button>
          </Form>
        ) : null}
        {problem !== undefined || unreachable !== undefined ? (
          <Problem words={problem ?? unreachable ?? ''} />
        ) : null}
      </div>
    </main>
  );
}
