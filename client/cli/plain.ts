/**
 * A text for people, from somebody who may mean them harm: without what a terminal takes for a
 * command.
 */
export function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '?');
}
