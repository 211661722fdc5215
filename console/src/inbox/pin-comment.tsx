import { type MouseEvent, useEffect, useState } from 'react';
import { plainText } from '../../../base/plain-text.ts';
import { type Answer, call } from '../api/client.ts';
import { Button, formText, Problem } from '../parts/elements.tsx';
import { FormDialog } from '../parts/dialog-form.tsx';
import { useAttempt } from '../live/use-live.ts';

type Look = Answer<'POST /api/runs/{id}/previews/{port}/look'>;
type Element = Answer<'POST /api/runs/{id}/previews/{port}/element'>;

export interface PinCommentProps {
  readonly runId: string;
  readonly port: number;
  /** Path and query of the page. @default / */
  readonly path?: string | undefined;
}

/**
 * A button that opens a picture of a preview's page, taken by Porthole's browser. The element that
 * a person presses there is the pin of a comment for the agent.
 */
export function PinComment({ runId, port, path = '/' }: PinCommentProps) {
  const [element, setElement] = useState<Element>();
  const send = async (form: FormData) => {
    const { picture = null, ...found } = element ?? {};
    await call('POST /api/runs/{id}/inbox', {
      path: { id: runId },
      body: {
        text: formText(form, 'text'),
        ...(element !== undefined && { pin: { port, path, ...(found as Omit<Element, 'picture'>) } }),
        ...(picture !== null && { picture }),
      },
    });
    setElement(undefined);
  };
  return (
    <FormDialog
      trigger={<Button>Comment on port {port}</Button>}
      title="Comment for the agent"
      action="Send"
      onSubmit={send}
    >
      <Pin runId={runId} port={port} path={path} element={element} onPin={setElement} />
      <label>
        Comment
        <textarea name="text" rows={3} required maxLength={2_000} />
      </label>
    </FormDialog>
  );
}

interface PinProps extends Required<Pick<PinCommentProps, 'runId' | 'port'>> {
  readonly path: string;
  readonly element: Element | undefined;
  readonly onPin: (element: Element | undefined) => void;
}

function Pin({ runId, port, path, element, onPin }: PinProps) {
  const [look, setLook] = useState<Look>();
  const taking = useAttempt();
  const finding = useAttempt();
  const route = { path: { id: runId, port: String(port) } };
  const { attempt } = taking;
  useEffect(() => {
    void attempt(async () =>
      setLook(await call('POST /api/runs/{id}/previews/{port}/look', { ...route, body: { path } })),
    );
    // One picture for each opening of the dialog.
  }, []);
  const pin = ({ detail, nativeEvent, currentTarget }: MouseEvent<HTMLButtonElement>) => {
    const screenshot = look?.screenshot;
    // A key press on the picture has no position.
    if (detail === 0 || screenshot == null) return;
    const scale = screenshot.width / currentTarget.clientWidth;
    const point = { x: Math.round(nativeEvent.offsetX * scale), y: Math.round(nativeEvent.offsetY * scale) };
    onPin(undefined);
    void finding.attempt(async () =>
      onPin(await call('POST /api/runs/{id}/previews/{port}/element', { ...route, body: { path, point } })),
    );
  };
  if (taking.problem !== undefined) return <Problem words={taking.problem} onRetry={taking.retry} />;
  if (look === undefined) return <p role="status">Taking a picture of the page…</p>;
  if (look.screenshot === null) return <p>There is no picture of this page. Your comment has no element.</p>;
  const { media_type: type, data } = look.screenshot;
  return (
    <>
      <p id="pin-help">Press the element that your comment is about, or send the comment without one.</p>
      <button type="button" className="pin-picture" aria-describedby="pin-help" onClick={pin}>
        <img src={`data:${type};base64,${data}`} alt={`Port ${port}, ${path}`} draggable={false} />
      </button>
      <p role="status">
        {finding.busy ? (
          'Finding the element…'
        ) : element === undefined ? null : (
          <>
            Pinned to <strong>{elementName(element)}</strong>{' '}
            {sourceName(element) === undefined ? null : <code>{sourceName(element)}</code>}
          </>
        )}
      </p>
      <Problem words={finding.problem} onRetry={finding.retry} />
    </>
  );
}

type Named = Pick<Element, 'selector' | 'role' | 'name' | 'component' | 'file' | 'line'>;

/** An element in a few words, e.g. `button "Save"`. Texts of the page are untrusted. */
export function elementName({ role, name, selector }: Named): string {
  const words = [role, name === null ? null : `“${plainText(name, 80)}”`].filter((word) => word !== null);
  return words.length === 0 ? plainText(selector, 120) : words.join(' ');
}

/** Component and source file of an element, if known. */
export function sourceName({ component, file, line }: Named): string | undefined {
  const place = file === null ? null : `${plainText(file, 120)}${line === null ? '' : `:${line}`}`;
  const parts = [component === null ? null : `<${plainText(component, 60)}>`, place];
  return parts.filter((part) => part !== null).join(' ') || undefined;
}
