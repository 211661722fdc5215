import { plainText } from '#core/shared/plain-text.ts';
import type { Answer } from '../api/client.ts';

type Element = Pick<
  Answer<'POST /api/runs/{id}/previews/{port}/element'>,
  'selector' | 'role' | 'name' | 'component' | 'file' | 'line'
>;

/** An element in a few words, e.g. `button "Save"`. Texts of the page are untrusted. */
export function elementName({ role, name, selector }: Element): string {
  const words = [role, name === null ? null : `“${plainText(name, 80)}”`].filter((word) => word !== null);
  return words.length === 0 ? plainText(selector, 120) : words.join(' ');
}

/** Component and source file of an element, if known. */
export function sourceName({ component, file, line }: Element): string | undefined {
  const place = file === null ? null : `${plainText(file, 120)}${line === null ? '' : `:${line}`}`;
  const parts = [component === null ? null : `<${plainText(component, 60)}>`, place];
  return parts.filter((part) => part !== null).join(' ') || undefined;
}
