/** What would break the line, turn the reading order, or not be seen at all. Spaces at the ends are seen nowhere either. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]|^ +| +$/gu;

/** A file's name as a person can read it: nothing in it moves or hides another part of the page, or of itself. */
export function shownName(name: string): string {
  return name.replace(UNSEEN, (found) => {
    if (found.startsWith(' ')) return '␣'.repeat(found.length);
    const code = found.codePointAt(0) ?? 0;
    // The joiners of emoji and of scripts that need them.
    if (code === 0x200d || code === 0x200c) return found;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Whether the name is as it is in the sandbox: bytes that are no UTF-8 come as U+FFFD, and no path leads to those. */
export function isReachable(path: string): boolean {
  return !path.includes('\uFFFD');
}

/** Why no file may be called so; undefined: it may. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'Type a name.';
  if (name === '.' || name === '..') return 'That is the name of a folder that is there already.';
  if (/[/\0]/.test(name)) return 'A name has no slash.';
  if (new TextEncoder().encode(name).length > 255) return 'A name has at most 255 bytes.';
  return undefined;
}
