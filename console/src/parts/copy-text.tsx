import { useState } from 'react';
import { Button, type ButtonProps } from './elements.tsx';

interface CopyButtonProps extends Pick<ButtonProps, 'variant'> {
  readonly text: string;
  readonly words: string;
}

/** A button that copies a text, and says so; another text needs another key. */
export function CopyButton({ text, words, ...button }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  return (
    <Button {...button} onPress={() => void copyText(text).then(setCopied)}>
      {copied ? 'Copied' : words}
    </Button>
  );
}

/** An id, with a button that copies it. */
export function CopiedId({ id }: { readonly id: string }) {
  return (
    <span className="copied-id">
      <span className="id">{id}</span> <CopyButton key={id} text={id} words="Copy" variant="plain" />
    </span>
  );
}

/**
 * Copies a text to the clipboard; false if the browser denies it. On plain http, without the
 * clipboard API, it uses a selection.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

function copySelection(text: string): boolean {
  const before = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'hidden';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
