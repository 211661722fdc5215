import { type FormEvent, useEffect } from 'react';
import { Form } from 'react-aria-components';
import { plainLines, plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { useIsOn } from '../live/person.ts';
import { useAnswer, useAttempt } from '../live/use-live.ts';
import { Ago, Button, Empty, formText, Pending, Problem } from '../parts/elements.tsx';
import { usePlace } from '../sandboxes/use-place.ts';
import { elementName, PinComment, sourceName } from './pin-comment.tsx';

const AUTHORS = { agent: 'Agent', owner: 'Owner', admin: 'Admin', member: 'Colleague' };

type Message = Answer<'GET /api/runs/{id}/inbox'>['messages'][number];

export interface InboxProps {
  readonly runId: string;
  /** Changes with each event of the run: the list is read again. */
  readonly seen?: string | undefined;
  /** A completed run takes no replies, nor does one that the user may only view. */
  readonly isReadOnly: boolean;
  /** Only what its owner has read counts as read. */
  readonly isOwner: boolean;
}

/** The comments of people for the agent of a run, and its replies. */
export function Inbox({ runId, seen, isReadOnly, isOwner }: InboxProps) {
  const { value, problem, reload } = useAnswer(
    'GET /api/runs/{id}/inbox',
    { path: { id: runId } },
    10_000,
    seen,
  );
  const { value: previews = [] } = useAnswer(
    'GET /api/runs/{id}/sandbox/port-forward',
    { path: { id: runId } },
    undefined,
    seen,
  );
  const [, go] = usePlace();
  const isOn = useIsOn();
  const canComment = !isReadOnly && isOn('pages');
  const messages = value?.messages ?? [];
  const unread = messages.filter(({ by, read_at: at }) => by === 'agent' && at === null);
  const ids = unread.map((message) => message.message_id).join(' ');
  useEffect(() => {
    if (ids === '' || !isOwner) return;
    // Shown is read. A failed call is repeated with the next list.
    call('POST /api/runs/{id}/inbox/read', {
      path: { id: runId },
      body: { messages: ids.split(' ') },
    }).catch(() => undefined);
  }, [runId, ids, isOwner]);
  if (value === undefined) return <Pending words={problem} onRetry={reload} />;
  const comments = messages.filter((message) => message.reply_to === null);
  return (
    <section className="inbox" aria-label="Comments">
      <Problem words={problem} onRetry={reload} />
      {canComment
        ? previews.map(({ target_port: port }) => <PinComment key={port} runId={runId} port={port} />)
        : null}
      {comments.length === 0 ? (
        <Empty title="No comments yet">
          {isOn('pages') ? <p>Comment on the page of a preview: the agent of the run reads it.</p> : null}
          {!canComment || previews.length > 0 ? null : (
            <Button onPress={() => go({ pane: 'preview' })}>Go to the previews</Button>
          )}
        </Empty>
      ) : null}
      {comments.map((comment) => (
        <article key={comment.message_id} aria-label="Comment">
          <Words message={comment} />
          {messages
            .filter((message) => message.reply_to === comment.message_id)
            .map((reply) => (
              <Words key={reply.message_id} message={reply} />
            ))}
          {isReadOnly ? null : <Reply runId={runId} to={comment.message_id} onSent={reload} />}
        </article>
      ))}
    </section>
  );
}

/** One message. Texts of the agent and of the page are untrusted. */
function Words({ message }: { readonly message: Message }) {
  const { by, at, read_at: readAt, text, pin } = message;
  return (
    <div className={by === 'agent' ? 'message reply' : 'message'}>
      <p className="quiet">
        <strong>{AUTHORS[by]}</strong> <Ago at={at} />
        {by === 'agent' ? null : readAt === null ? ', not read yet' : ', read by the agent'}
      </p>
      <p className="text">
        <bdi>{plainLines(text, 2_000)}</bdi>
      </p>
      {pin === null ? null : (
        <p className="quiet">
          Port {pin.port} {plainText(pin.path, 100)}: <bdi>{elementName(pin)}</bdi>
          {sourceName(pin) === undefined ? null : (
            <>
              {' '}
              in <code>{sourceName(pin)}</code>
            </>
          )}
        </p>
      )}
    </div>
  );
}

interface ReplyProps {
  readonly runId: string;
  readonly to: string;
  readonly onSent: () => void;
}

function Reply({ runId, to, onSent }: ReplyProps) {
  const { busy, problem, attempt } = useAttempt();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const text = formText(new FormData(form), 'text');
    void attempt(async () => {
      await call('POST /api/runs/{id}/inbox/{message}/replies', {
        path: { id: runId, message: to },
        body: { text },
      });
      form.reset();
      onSent();
    });
  };
  return (
    <Form onSubmit={submit} className="reply-form">
      <input name="text" aria-label="Reply" placeholder="Reply" required maxLength={2_000} />
      <Button type="submit" isDisabled={busy}>
        {busy ? 'Sending…' : 'Reply'}
      </Button>
      <Problem words={problem} />
    </Form>
  );
}
