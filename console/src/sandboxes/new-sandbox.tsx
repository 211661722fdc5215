import { type FormEvent, useEffect, useRef, useState } from 'react';
import { CheckboxGroup, Form, Heading, Label } from 'react-aria-components';
import { Link, useLocation } from 'wouter';
import { type Answer, ApiError, call } from '../api/client.ts';
import { problemOf, useAnswer, useNow } from '../live/use-live.ts';
import { Button, Check, Choice, TextInput } from '../parts/elements.tsx';
import { DialogButton } from '../parts/dialog-form.tsx';
import { readNewSandbox } from './read-new-sandbox.ts';
import { problemsByField } from './sandbox-fields.ts';

/** Prefix of the API's errors for each form field. */
const WORDS = {
  name: 'name',
  cpu: 'resources.cpu',
  memory_mb: 'resources.memory_mb',
  disk_mb: 'resources.disk_mb',
  session_key: 'session_key',
  ttl_seconds: 'ttl_seconds',
  tags: 'tags',
  env: 'env',
} as const;
/** Fields shown only on request. */
const MORE = ['session_key', 'ttl_seconds', 'tags', 'env'];

type Errors = Readonly<Record<string, string>>;

interface Refused {
  readonly words: string;
  /** The sandbox that already has the name. */
  readonly other?: string;
}

/** The form that creates a sandbox. */
export function NewSandbox({ onMade }: { readonly onMade: () => void }) {
  return (
    <DialogButton
      className="wide-modal"
      isDismissable={false}
      trigger={<Button variant="primary">New sandbox</Button>}
    >
      {({ close }) => <NewSandboxForm onMade={onMade} onClose={close} />}
    </DialogButton>
  );
}

function NewSandboxForm({ onMade, onClose }: { readonly onMade: () => void; readonly onClose: () => void }) {
  const [, navigate] = useLocation();
  const { value: images } = useAnswer('GET /api/images');
  const { value: skills } = useAnswer('GET /api/skills', { query: { limit: 200 } });
  const { value: quota } = useAnswer('GET /api/quota');
  const [errors, setErrors] = useState<Errors>({});
  const [refused, setRefused] = useState<Refused>();
  const [since, setSince] = useState<number>();
  const more = useRef<HTMLDetailsElement>(null);
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const show = (found: Errors) => {
    setErrors(found);
    if (more.current !== null && MORE.some((field) => field in found)) more.current.open = true;
  };
  const submit = async (form: FormData) => {
    const read = readNewSandbox(form);
    setRefused(undefined);
    setErrors({});
    if ('errors' in read) return show(read.errors);
    const ended = new AbortController();
    running.current = ended;
    setSince(Date.now());
    try {
      const { id } = await call('POST /v1/sandbox', { body: read.body, signal: ended.signal });
      onMade();
      onClose();
      navigate(`/sandboxes/${encodeURIComponent(id)}`);
    } catch (error) {
      if (ended.signal.aborted) return;
      const found = error instanceof ApiError ? fieldErrors(error) : undefined;
      if (found !== undefined) show(found);
      const other = error instanceof ApiError ? error.details['sandbox_id'] : undefined;
      if (found === undefined || typeof other === 'string') {
        setRefused({ words: problemOf(error), ...(typeof other === 'string' ? { other } : {}) });
      }
    } finally {
      setSince(undefined);
    }
  };
  const busy = since !== undefined;
  return (
    <Form
      validationErrors={errors}
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        if (!busy) void submit(new FormData(event.currentTarget));
      }}
    >
      <Heading slot="title">New sandbox</Heading>
      <TextInput label="Name" name="name" autoComplete="off" hint="Optional. Unique among your sandboxes." />
      <Choice
        label="Image"
        name="image"
        defaultValue="default"
        options={[
          { id: 'default', words: 'Default' },
          ...(images?.images ?? []).map(({ name, description }) => ({
            id: name,
            words: description === '' ? name : `${name}: ${description}`,
          })),
        ]}
      />
      <fieldset className="resources">
        <legend>Resources</legend>
        <div className="row">
          {AMOUNTS.map(({ field, label, least, inputMode }) => (
            <TextInput
              key={field}
              label={label}
              name={field}
              inputMode={inputMode}
              hint={hintOf(quota, field, least)}
            />
          ))}
        </div>
        <NotHeld quota={quota} />
      </fieldset>
      <div>
        <Check name="network" value="yes">
          May reach the internet
        </Check>
        <p className="hint">
          What runs in it may then send what it knows anywhere. Metadata services and private networks stay
          closed; previews work without.
        </p>
      </div>
      {skills === undefined || skills.skills.length === 0 ? null : (
        <CheckboxGroup name="skills" className="field skills">
          <Label>Skills</Label>
          {skills.skills.map(({ name, description }) => (
            <Check key={name} value={name}>
              <span>
                {name} <span className="quiet">{description}</span>
              </span>
            </Check>
          ))}
        </CheckboxGroup>
      )}
      <details ref={more} className="more-fields">
        <summary>More</summary>
        <TextInput
          label="Session key"
          name="session_key"
          autoComplete="off"
          hint="The conversation it belongs to: the same key gives the same sandbox."
        />
        <TextInput
          label="Time to live, seconds"
          name="ttl_seconds"
          inputMode="numeric"
          hint="Without a heartbeat for so long it is stopped; its files stay. An open page is one."
        />
        <TextInput label="Tags" name="tags" rows={2} autoComplete="off" hint="One a line, as key:value." />
        <TextInput
          label="Environment"
          name="env"
          rows={3}
          autoComplete="off"
          hint="One NAME=value per line. Only commands in the sandbox can read the values."
        />
      </details>
      {refused === undefined ? null : (
        <div className="problem" role="alert">
          <p>{refused.words}</p>
          {refused.other === undefined ? null : (
            <Link href={`/sandboxes/${encodeURIComponent(refused.other)}`} onClick={onClose}>
              Open that sandbox
            </Link>
          )}
        </div>
      )}
      <div className="actions">
        {since === undefined ? null : <Waiting since={since} />}
        <Button
          onPress={() => {
            running.current?.abort();
            onClose();
          }}
        >
          Cancel
        </Button>
        <Button type="submit" variant="primary" isDisabled={busy}>
          {busy ? 'One moment…' : 'Create sandbox'}
        </Button>
      </div>
    </Form>
  );
}

function Waiting({ since }: { readonly since: number }) {
  useNow();
  const seconds = Math.floor((Date.now() - since) / 1_000);
  return (
    <p className="quiet waiting">
      <span role="status">It is being made</span>
      {seconds < 2 ? '…' : `, for ${seconds} s. An image that is new here takes longest.`}
    </p>
  );
}

function fieldErrors({ status, code, message }: ApiError): Errors | undefined {
  if (code === 'sandbox_exists') return { name: 'Another one of yours has this name.' };
  return status === 400 || status === 422 ? problemsByField(message, WORDS) : undefined;
}

const AMOUNTS = [
  { field: 'cpu', name: 'CPU', label: 'CPU', least: 0.1, inputMode: 'decimal' },
  { field: 'memory_mb', name: 'Memory', label: 'Memory, MiB', least: 64, inputMode: 'numeric' },
  { field: 'disk_mb', name: 'Disk', label: 'Disk, MiB', least: 16, inputMode: 'numeric' },
] as const;

const listed = new Intl.ListFormat('en', { type: 'conjunction' });

/** The limits that are not enforced where the sandboxes run. */
function NotHeld({ quota }: { readonly quota: Answer<'GET /api/quota'> | undefined }) {
  if (quota === undefined) return null;
  const free = AMOUNTS.filter(({ field }) => quota.enforced_by[field] === null);
  if (free.length === 0) return null;
  return (
    <p className="hint">
      {listed.format(free.map(({ name }) => name))}: not enforced here. The numbers only count towards your
      quota.
    </p>
  );
}

/** The known limits of a request. */
function hintOf(
  quota: Answer<'GET /api/quota'> | undefined,
  field: (typeof AMOUNTS)[number]['field'],
  least: number,
): string {
  if (quota === undefined) return `At least ${least}.`;
  const { default_size: size, limits, used } = quota;
  const known = `${least} or more; ${size[field].toLocaleString()} if left empty.`;
  const limit = limits[field];
  if (limit === null) return known;
  const left = Math.max(0, Math.round((limit - used[field]) * 1_000) / 1_000);
  return `${known} You have ${left.toLocaleString()} left.`;
}
