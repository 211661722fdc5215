import type { TarMember } from './tar-writer.ts';

/** What a tar that is told to look for a missing folder says it was looking for: what find could not read. */
export const SENTINEL = './a folder that find cannot read';

/** As `UNDER_WAY` has it, so that no listing and no later archive has it. */
const NAME = '.porthole-unreadable-files';
/** Names that are told of; the others are counted. */
const MOST_NAMES = 1_000;
/** Of a line, in UTF-16 units: a name as long as Linux takes one, each byte escaped. */
const MOST_LINE = 20_000;
/** More than tar has to say about one failure. */
const MOST_WORDS = 4_096;

/** Of GNU tar with `--ignore-failed-read`, in English, which goes on where it says so. */
const WARNING =
  /^tar: (.*): Warning: Cannot [a-z]+: (?:(Permission denied|File name too long)|No such file or directory)$/s;

/**
 * Of busybox's tar, which goes on behind what may not be read, and ends with code 1 and the second
 * line.
 */
const BUSYBOX_DENIED = /^tar: (?:can't (?:open|stat) '(.*)'|(\.\/.*)): Permission denied$/s;
const BUSYBOX_DELAYED = 'tar: error exit delayed from previous errors';

/** A file that tells of the others: its header, and its contents. */
export type Note = Pick<TarMember, 'name' | 'mtime'> & { readonly content: Buffer };

/**
 * What tar says while it makes an archive: of what it leaves out, what the sandbox's user may not
 * read is told apart from what has just gone, which was never there, and from what breaks the
 * archive.
 */
export class TarOutput {
  readonly #unreadable: string[] = [];
  #count = 0;
  #line = '';
  #said = '';
  #fault: string | undefined;
  #isDelayed = false;
  #isForeign = false;

  take(words: string): void {
    if (this.#said.length < MOST_WORDS) this.#said += words;
    const lines = words.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      this.#classify(this.#line + line);
      this.#line = '';
    }
    if (this.#line.length < MOST_LINE) this.#line += last;
  }

  /** How many files and folders were left out, because the sandbox's user may not read them. */
  get leftOut(): number {
    return this.#count;
  }

  /** What makes the archive a part, although tar has gone on; undefined: nothing does. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * Whether an exit code of 1 means no more than that busybox's tar has left out what may not be
   * read.
   */
  get isWhole(): boolean {
    return this.#isDelayed && !this.#isForeign;
  }

  /** The first line of all that was said. */
  get first(): string {
    return this.#said.trim().split('\n').at(0)?.slice(0, 200) ?? '';
  }

  /** Tells in the archive what is not in it; undefined where nothing was left out. */
  note(): Note | undefined {
    if (this.#count === 0) return undefined;
    const more = this.#count - this.#unreadable.length;
    const lines = [
      'Not in this archive, because the user of the sandbox may not read it:',
      ...this.#unreadable,
      ...(more === 0 ? [] : [`and ${more} more`]),
    ];
    return { name: `./${NAME}`, mtime: 0, content: Buffer.from(`${lines.join('\n')}\n`) };
  }

  #classify(line: string): void {
    if (!line.includes(': Warning: ')) return this.#classifyBusybox(line);
    const [, name, isDenied] = WARNING.exec(line) ?? [];
    if (name === undefined || name === SENTINEL) {
      this.#fault ??= line.slice(0, 200);
      return;
    }
    if (isDenied !== undefined) this.#leaveOut(unescaped(name));
  }

  #classifyBusybox(line: string): void {
    const [, file, folder] = BUSYBOX_DENIED.exec(line) ?? [];
    const name = file ?? folder;
    if (name !== undefined) this.#leaveOut(name);
    else if (line === BUSYBOX_DELAYED) this.#isDelayed = true;
    else this.#isForeign = true;
  }

  #leaveOut(name: string): void {
    this.#count += 1;
    if (this.#unreadable.length < MOST_NAMES) this.#unreadable.push(name);
  }
}

/** A name as `--quoting-style=escape` shows it, in UTF-8; what would end or hide a line stays as it is shown. */
function unescaped(name: string): string {
  const bytes = name.replace(/\\([0-7]{3})/g, (shown, octal: string) => {
    const byte = Number.parseInt(octal, 8);
    return byte < 0x20 || byte > 0xff ? shown : String.fromCharCode(byte);
  });
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
