import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../api/client.ts';
import { usePerson } from '../live/person.ts';
import { useAnswer } from '../live/use-live.ts';
import { Fact, Pending, Problem } from '../parts/elements.tsx';

type Installation = Answer<'GET /api/installation'>;

const PROVIDERS: Readonly<Record<string, string>> = {
  local: 'Processes on one machine',
  docker: 'Containers of a Docker engine',
  kubernetes: 'Pods in a Kubernetes cluster',
  'agent-sandbox': 'Agent Sandbox in a Kubernetes cluster',
  auto: 'Pods in a Kubernetes cluster',
};

const SIGN_IN: Readonly<Record<Installation['sign_in'], string>> = {
  none: 'Not needed',
  keys: 'API keys',
  oidc: 'Identity provider',
  keys_and_oidc: 'Identity provider and API keys',
};

/** Packages in this page, with their licences. Set by the build. */
declare const LICENCES: readonly (readonly [name: string, licence: string])[];

const hours = (amount: number) => (amount % 24 === 0 ? plural(amount / 24, 'day') : plural(amount, 'hour'));
const minutes = (amount: number) => (amount % 60 === 0 ? hours(amount / 60) : plural(amount, 'minute'));

function plural(amount: number, noun: string): string {
  return `${amount.toLocaleString()} ${noun}${amount === 1 ? '' : 's'}`;
}

/** What this Porthole is, its health and its limits. */
export function About() {
  const { admin } = usePerson();
  const { value, problem, reload } = useAnswer('GET /api/installation', {}, 30_000);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  return (
    <>
      <Problem words={problem} onRetry={reload} />
      {admin ? <Checks /> : <Health warnings={value.warnings} />}
      <section aria-labelledby="installation">
        <div className="section-head">
          <h2 id="installation">Installation</h2>
        </div>
        <dl className="facts-list">
          <Fact name="Version">Porthole {value.version}</Fact>
          <Fact name="Sandboxes">
            {PROVIDERS[value.provider] ?? value.provider}
            {value.sandboxes === null ? null : <span className="quiet note">{value.sandboxes}</span>}
          </Fact>
          <Fact name="Sign-in">{SIGN_IN[value.sign_in]}</Fact>
        </dl>
      </section>
      <Limits limits={value.limits} previews={value.previews} />
      <section aria-labelledby="help">
        <div className="section-head">
          <h2 id="help">Help</h2>
        </div>
        <ul className="links">
          <li>
            <a href="/v1/openapi">API reference</a>
          </li>
          <li>
            <Link href="/docs">Documentation</Link>
          </li>
          <Outside href={value.docs_url}>More documentation</Outside>
          <Outside href={value.feedback_url}>Send feedback</Outside>
        </ul>
      </section>
      <Licences />
    </>
  );
}

function Outside({ href, children }: { readonly href: string | null; readonly children: ReactNode }) {
  if (href === null) return null;
  return (
    <li>
      <a href={href} target="_blank" rel="noreferrer">
        {children}
      </a>
    </li>
  );
}

const TONES = { ok: 'good', warning: 'busy', failed: 'bad' } as const;

/** What admins see of the health: the checks of `porthole doctor`. */
function Checks() {
  const { value, problem, reload } = useAnswer('GET /api/installation/checks', {}, 30_000);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const found = value.checks.filter(({ state }) => state !== 'ok').length;
  return (
    <section aria-labelledby="health">
      <div className="section-head">
        <h2 id="health">Health</h2>
        <span className={`state ${found === 0 ? 'good' : value.ok ? 'busy' : 'bad'}`}>
          {found === 0 ? 'Everything is well' : `${found} of ${value.checks.length} need a look`}
        </span>
      </div>
      <Problem words={problem} onRetry={reload} />
      <dl className="facts-list">
        {value.checks.map(({ name, state, detail, remedy }) => (
          <Fact name={sentence(name)} key={name + detail}>
            <span className={`state ${TONES[state]}`}>{sentence(state)}</span> {detail}
            {remedy === null ? null : <span className="quiet note">{remedy}</span>}
          </Fact>
        ))}
      </dl>
    </section>
  );
}

const sentence = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

function Health({ warnings }: Pick<Installation, 'warnings'>) {
  return (
    <section aria-labelledby="health">
      <div className="section-head">
        <h2 id="health">Health</h2>
        <span className={`state ${warnings.length === 0 ? 'good' : 'busy'}`}>
          {warnings.length === 0 ? 'No warnings' : plural(warnings.length, 'warning')}
        </span>
      </div>
      {warnings.length === 0 ? (
        <p className="quiet">All settings that Porthole checks are safe.</p>
      ) : (
        <ul className="warnings">
          {warnings.map((warning) => (
            <li className="reason" key={warning}>
              {warning}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Limits({ limits, previews }: Pick<Installation, 'limits' | 'previews'>) {
  return (
    <section aria-labelledby="limits">
      <div className="section-head">
        <h2 id="limits">Limits</h2>
      </div>
      <dl className="facts-list">
        <Fact name="Idle sandboxes">Stop after {minutes(limits.idle_minutes)} without activity</Fact>
        <Fact name="Stopped sandboxes">Are deleted after {hours(limits.retention_hours)}</Fact>
        <Fact name="Running sandboxes">
          {limits.running_sandboxes === null
            ? 'No limit'
            : `${limits.running_sandboxes.toLocaleString()} for all people together`}
        </Fact>
        <Fact name="Uploads">Up to {limits.file_mib.toLocaleString()} MiB a file</Fact>
        {previews === null ? (
          <Fact name="Previews">Have no URLs here</Fact>
        ) : (
          <>
            <Fact name="Previews">
              {previews.per_run} for each run, {previews.total} for all people together
            </Fact>
            <Fact name="Ports">
              {previews.port_min} to {previews.port_max}
            </Fact>
            <Fact name="A preview ends">
              After {minutes(previews.idle_minutes)} without visitors, and after{' '}
              {hours(previews.lifetime_hours)} in any case
            </Fact>
          </>
        )}
      </dl>
    </section>
  );
}

function Licences() {
  return (
    <section aria-labelledby="licences">
      <div className="section-head">
        <h2 id="licences">Licences</h2>
      </div>
      <p>Porthole is licensed under the Apache License 2.0.</p>
      <details>
        <summary>{plural(LICENCES.length, 'package')} in this console</summary>
        <ul className="licences">
          {LICENCES.map(([name, licence]) => (
            <li key={name}>
              {name} <span className="quiet">{licence}</span>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
