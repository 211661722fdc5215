import { useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { serverNow } from '../live/clock.ts';
import { formatMoment } from '../live/time-format.ts';
import { useAnswer } from '../live/use-live.ts';
import { FormDialog } from '../parts/dialog-form.tsx';
import { Ago, Button, Check, Choice, formText, Pending, Problem, TextInput } from '../parts/elements.tsx';
import { RevokeButton } from '../parts/revoke-button.tsx';
import { ShownOnce } from '../parts/shown-once.tsx';
import {
  linkEnd,
  linkLevelOptions,
  type PreviewLink,
  type PreviewViewer,
  usesLabel,
  viewerLink,
} from './access-labels.ts';
import { NewPassword, passwordIn } from './change-access.tsx';
import { QrCode } from './qr-code.tsx';

type Created = Answer<'POST /v1/previews/{id}/links'>;

const EVERY_MS = 10_000;

interface PreviewLinksProps {
  readonly token: string;
  readonly access: Answer<'GET /v1/previews/{id}/access'>;
}

/** The links of a preview, and who opened it. */
export function PreviewLinks({ token, access: { level, maximum } }: PreviewLinksProps) {
  const [created, setCreated] = useState<Created>();
  const path = { id: token };
  const { value, problem, reload } = useAnswer('GET /v1/previews/{id}/links', { path }, EVERY_MS);
  const { value: seen, problem: unseen } = useAnswer('GET /v1/previews/{id}/viewers', { path }, EVERY_MS);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const options = linkLevelOptions(maximum);
  return (
    <>
      <div className="section-head">
        <h3>Links</h3>
        {options.length === 0 ? null : (
          <NewLink
            token={token}
            levels={options}
            onCreated={(link) => {
              setCreated(link);
              reload();
            }}
          />
        )}
      </div>
      <Problem words={problem} onRetry={reload} />
      {level === 'link' && value.links.length > 0 ? (
        <p className="quiet">Anyone with the address of the preview can see the app without a link.</p>
      ) : null}
      {value.links.length === 0 ? (
        <p className="quiet">
          {options.length === 0
            ? 'This installation allows no links.'
            : 'A link lets others in without changing who can see the app. Each can be revoked.'}
        </p>
      ) : (
        <ul className="access-list" aria-label="Links">
          {value.links.map((link) => (
            <li key={link.id}>
              <LinkText link={link} />
              <RevokeButton
                name={plainText(link.label, 100)}
                action="Revoke link"
                onRevoke={() =>
                  call('DELETE /v1/previews/{id}/links/{linkId}', {
                    path: { id: token, linkId: link.id },
                  }).then(reload)
                }
              >
                Those who came by it lose the app at once. This cannot be undone.
              </RevokeButton>
            </li>
          ))}
        </ul>
      )}
      <h3>Visitors</h3>
      <Problem words={unseen} />
      {seen === undefined || seen.viewers.length === 0 ? (
        <p className="quiet">Those who open the preview appear here, unless anyone with the link can.</p>
      ) : (
        <ul className="access-list" aria-label="Visitors">
          {seen.viewers.map((viewer) => (
            <li key={`${viewer.viewer} ${viewer.link_id}`}>
              <ViewerText viewer={viewer} links={value.links} />
            </li>
          ))}
        </ul>
      )}
      {created === undefined ? null : (
        <ShownOnce
          what="link"
          name={created.label}
          secret={created.url}
          onClose={() => setCreated(undefined)}
        >
          <QrCode url={created.url} words="The link as a QR code" />
        </ShownOnce>
      )}
    </>
  );
}

function LinkText({ link }: { readonly link: PreviewLink }) {
  const {
    label,
    level,
    has_password: hasPassword,
    may_wake: mayWake,
    expires_at: expiry,
    last_used_at: used,
  } = link;
  const end = linkEnd(link, serverNow());
  return (
    <span>
      <bdi className="strong">{plainText(label, 100)}</bdi>
      {level === 'link' ? null : <span className="tag">{level === 'org' ? 'organisation' : 'sign-in'}</span>}
      {hasPassword ? <span className="tag">password</span> : null}
      {mayWake ? <span className="tag">may start it</span> : null}
      {end === undefined ? null : <span className="state bad">{end}</span>}
      <span className="quiet">
        {usesLabel(link)}
        {used === null ? null : (
          <>
            {' · last '}
            <Ago at={used} />
          </>
        )}
        {expiry === null || end === 'expired' ? null : ` · until ${formatMoment(expiry)}`}
      </span>
    </span>
  );
}

interface ViewerTextProps {
  readonly viewer: PreviewViewer;
  readonly links: readonly PreviewLink[];
}

function ViewerText({ viewer, links }: ViewerTextProps) {
  const by = viewerLink(viewer, links);
  return (
    <span>
      <bdi className="strong">{plainText(viewer.viewer, 100)}</bdi>
      <span className="quiet">
        {by === undefined ? null : (
          <>
            by <bdi>{plainText(by, 100)}</bdi> ·{' '}
          </>
        )}
        <Ago at={viewer.last_at} />
      </span>
    </span>
  );
}

const HOUR_SECONDS = 3_600;
const NO_END = 'none';
const EXPIRIES = [
  { id: '1', words: '1 hour' },
  { id: '24', words: '1 day' },
  { id: '168', words: '7 days' },
  { id: '720', words: '30 days' },
  { id: NO_END, words: 'Never' },
];

interface NewLinkProps {
  readonly token: string;
  readonly levels: ReturnType<typeof linkLevelOptions>;
  readonly onCreated: (link: Created) => void;
}

function NewLink({ token, levels, onCreated }: NewLinkProps) {
  return (
    <FormDialog
      trigger={<Button>New link</Button>}
      title="New link"
      action="Create link"
      onSubmit={async (form) => {
        const [hours, uses] = ['expiry', 'uses'].map((name) => formText(form, name));
        const password = passwordIn(form);
        const level = levels.find(({ id }) => id === form.get('level'))?.id;
        const link = await call('POST /v1/previews/{id}/links', {
          path: { id: token },
          body: {
            label: formText(form, 'label'),
            ...(level !== undefined && { level }),
            ...(hours !== NO_END && { expires_in: Number(hours) * HOUR_SECONDS }),
            ...(uses !== '' && { max_uses: Number(uses) }),
            ...(password !== '' && { password }),
            may_wake: form.has('may_wake'),
          },
        });
        onCreated(link);
      }}
    >
      <TextInput
        label="Label"
        name="label"
        isRequired
        maxLength={100}
        hint="Whom it is for"
        autoComplete="off"
      />
      <div className="row">
        <Choice label="Who may use it" name="level" defaultValue={levels[0]?.id ?? ''} options={levels} />
        <Choice label="Expires after" name="expiry" defaultValue="24" options={EXPIRIES} />
      </div>
      <TextInput
        label="Visits"
        name="uses"
        inputMode="numeric"
        pattern="[1-9][0-9]{0,5}"
        hint="How many visitors may use it. Empty: any number"
        autoComplete="off"
      />
      <NewPassword hint="At least 8 characters. Empty: none" />
      <Check name="may_wake" value="on">
        Visitors may start the preview while it is stopped
      </Check>
    </FormDialog>
  );
}
