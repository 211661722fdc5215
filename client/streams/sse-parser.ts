/** One event of an event stream. */
export interface ServerSentEvent {
  /** `message` if the stream names none. */
  readonly event: string;
  readonly data: string;
  /** The last id of the stream; '' before the first. */
  readonly id: string;
}

/** Maximum size of one event in characters: four times a frame of command output. */
const MAX_EVENT = 4_194_304;

/**
 * Parses event streams (HTML standard, section 9.2.6) in chunks of any size. Invalid UTF-8, a
 * missing end, or more than 4 Mi characters is an error, and never an event: `eventsource-parser`
 * takes a stream that was cut off for a complete one.
 */
export class SseParser {
  /** Reconnect delay in milliseconds, if the stream sends one. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  /** An incomplete line. */
  #held = '';
  #event = '';
  #data: string[] = [];
  #length = 0;
  #id = '';

  /** @throws Error if it is not an event stream */
  push(bytes: Uint8Array): ServerSentEvent[] {
    return this.#read(this.#held + this.#decoder.decode(bytes, { stream: true }));
  }

  /**
   * The stream has ended.
   * @throws Error if it ended within an event
   */
  end(): ServerSentEvent[] {
    // A lone CR at the end of the data ends a line; a following LF has not arrived.
    const events = this.#held.endsWith('\r') ? this.#read(`${this.#held}\n`) : [];
    this.#decoder.decode();
    if (this.#held !== '' || this.#data.length > 0) throw new Error('the event stream was cut off');
    return events;
  }

  #read(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    // Porthole's streams have no CR; searching for it at every line of a long text would be slow.
    const hasReturns = text.includes('\r');
    let at = 0;
    for (;;) {
      const end = hasReturns ? lineEnd(text, at) : text.indexOf('\n', at);
      if (end === -1) break;
      const isPair = text[end] === '\r' && text[end + 1] === '\n';
      const event = this.#line(text.slice(at, end));
      if (event !== undefined) events.push(event);
      at = end + (isPair ? 2 : 1);
    }
    this.#held = text.slice(at);
    this.#bound(this.#held.length);
    return events;
  }

  #line(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'data') {
      this.#data.push(value);
      this.#length += value.length;
      this.#bound(0);
    } else if (field === 'event') this.#event = value;
    else if (field === 'id') {
      if (!value.includes('\0')) this.#id = value;
    } else if (field === 'retry') {
      if (/^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    } else throw new Error(`not a line of an event stream: ${JSON.stringify(line.slice(0, 60))}`);
    return undefined;
  }

  #dispatch(): ServerSentEvent | undefined {
    const event = this.#event === '' ? 'message' : this.#event;
    const data = this.#data;
    this.#event = '';
    this.#data = [];
    this.#length = 0;
    return data.length === 0 ? undefined : { event, data: data.join('\n'), id: this.#id };
  }

  #bound(held: number): void {
    if (this.#length + held > MAX_EVENT) throw new Error(`an event is longer than ${MAX_EVENT} characters`);
  }
}

/**
 * Where the next line ends; -1 if its end has not arrived. A CR at the end of the data may be half
 * of a CRLF.
 */
function lineEnd(text: string, from: number): number {
  const lf = text.indexOf('\n', from);
  const cr = text.indexOf('\r', from);
  if (cr === -1 || (lf !== -1 && lf < cr)) return lf;
  return cr === text.length - 1 ? -1 : cr;
}
