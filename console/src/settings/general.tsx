import { useState, useSyncExternalStore } from 'react';
import { onNotifications, notificationState, switchNotifications } from '../live/notifications.ts';
import { chosenTheme, chooseTheme, type Theme } from '../live/theme.ts';
import { chooseTimeFormat, formatMoment, onTimeFormat, timeFormat } from '../live/time-format.ts';
import { useIsOnlyUser, usePerson } from '../live/person.ts';
import { Button, Choice, Fact } from '../parts/elements.tsx';
import { Segments } from '../parts/segments.tsx';

const THEMES: readonly { readonly id: Theme; readonly words: string }[] = [
  { id: 'system', words: 'System' },
  { id: 'light', words: 'Light' },
  { id: 'dark', words: 'Dark' },
];

const LANGUAGES = ['en-US', 'en-GB', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt-BR', 'sv', 'ja', 'ko', 'zh-CN'];
/** The API of selects has no empty id. */
const BROWSER = 'browser';

function languages() {
  const own = nameOf(navigator.language);
  return [{ id: BROWSER, words: `Browser (${own})` }, ...LANGUAGES.map((id) => ({ id, words: nameOf(id) }))];
}

/** Each in its own words: people find theirs. */
function nameOf(tag: string): string {
  return new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag;
}

export function General() {
  return (
    <>
      <Account />
      <Appearance />
      <Times />
      <Notifications />
    </>
  );
}

function Account() {
  const { user, org, admin } = usePerson();
  const isOnlyUser = useIsOnlyUser();
  return (
    <section className="setting" aria-labelledby="account">
      <div>
        <h2 id="account">Account</h2>
        <p className="quiet">Who you are here.</p>
      </div>
      {isOnlyUser ? (
        <p>You are the only user: this Porthole asks for no sign-in. You may do everything in it.</p>
      ) : (
        <dl className="facts-list">
          <Fact name="User">{user}</Fact>
          <Fact name="Organisation">{org}</Fact>
          <Fact name="Role">{admin ? 'Admin' : 'Member'}</Fact>
        </dl>
      )}
    </section>
  );
}

function Appearance() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <section className="setting" aria-labelledby="appearance">
      <div>
        <h2 id="appearance">Appearance</h2>
        <p className="quiet">Kept in this browser.</p>
      </div>
      <Segments
        label="Theme"
        value={theme}
        onChange={(chosen) => {
          chooseTheme(chosen);
          setTheme(chosen);
        }}
        options={THEMES}
      />
    </section>
  );
}

function Times() {
  const format = useSyncExternalStore(onTimeFormat, timeFormat);
  return (
    <section className="setting" aria-labelledby="times">
      <div>
        <h2 id="times">Dates and times</h2>
        <p className="quiet">In your time zone: {Intl.DateTimeFormat().resolvedOptions().timeZone}.</p>
      </div>
      <div className="stack">
        <Choice
          label="Language"
          value={format.language === '' ? BROWSER : format.language}
          onChange={(id) => chooseTimeFormat({ ...format, language: id === BROWSER ? '' : id })}
          options={languages()}
        />
        <Segments
          label="Clock"
          value={format.hours}
          onChange={(hours) => chooseTimeFormat({ ...format, hours })}
          options={[
            { id: 'locale', words: 'Automatic' },
            { id: '24', words: '24 hours' },
            { id: '12', words: '12 hours' },
          ]}
        />
        <p className="quiet">
          Example: <span id="time-example">{formatMoment(new Date(2026, 10, 29, 14, 5))}</span>
        </p>
      </div>
    </section>
  );
}

const NOTIFICATIONS: Readonly<Record<ReturnType<typeof notificationState>, string>> = {
  on: 'This browser notifies you when an agent asks and the console is in the background.',
  off: 'This browser does not notify you.',
  denied:
    'This browser blocks notifications of Porthole. Allow them in its settings of this site, then load this page again.',
  missing: 'This browser has no notifications for this address: they need HTTPS or localhost.',
};

function Notifications() {
  const state = useSyncExternalStore(onNotifications, notificationState);
  return (
    <section className="setting" aria-labelledby="notifications">
      <div>
        <h2 id="notifications">Notifications</h2>
        <p className="quiet">When an agent needs your approval.</p>
      </div>
      <div className="stack">
        <p role="status">{NOTIFICATIONS[state]}</p>
        {state === 'on' || state === 'off' ? (
          <p>
            <Button onPress={() => void switchNotifications(state === 'off')}>
              {state === 'off' ? 'Turn on notifications' : 'Turn off notifications'}
            </Button>
          </p>
        ) : null}
      </div>
    </section>
  );
}
