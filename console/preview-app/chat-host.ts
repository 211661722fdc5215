import type {
  McpUiHostCapabilities,
  McpUiHostContext,
  McpUiInitializeRequest,
} from '@modelcontextprotocol/ext-apps';

/** A JSON object of unknown content: all that arrives is validated where it is used. */
export type Json = Readonly<Record<string, unknown>>;

/** The version of the MCP Apps protocol that this page speaks. */
const VERSION = '2026-01-26';

/** What the page hears from the chat. */
export interface ChatListener {
  /** The arguments of the tool call that this page shows. */
  onInput(input: Json): void;
  onResult(result: Json): void;
  onCancelled(): void;
  onContext(context: McpUiHostContext): void;
}

/**
 * The chat application that shows this page, over the messages of MCP Apps (JSON-RPC 2.0). The
 * library of the protocol would make the page 130 times as large.
 */
export class ChatHost {
  #next = 0;
  readonly #pending = new Map<number, (answer: Json) => void>();
  #capabilities: Json = {};

  constructor(listener: ChatListener) {
    window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
      // The preview's frame can also post messages: only the chat's count.
      if (source === window.parent && isObject(data) && data['jsonrpc'] === '2.0') {
        this.#receive(data, listener);
      }
    });
  }

  /** Introduces the page; resolves to the context of the chat. */
  async connect(): Promise<McpUiHostContext> {
    const params: McpUiInitializeRequest['params'] = {
      appInfo: { name: 'porthole-preview', version: '1.0.0' },
      appCapabilities: {},
      protocolVersion: VERSION,
    };
    const result = objectIn(await this.#request('ui/initialize', { ...params }), 'result');
    this.#capabilities = objectIn(result, 'hostCapabilities');
    this.#notify('ui/notifications/initialized', {});
    return objectIn(result, 'hostContext');
  }

  has(capability: keyof McpUiHostCapabilities): boolean {
    return isObject(this.#capabilities[capability]);
  }

  /** Calls a tool of Porthole through the chat. Undefined if it is refused, or the chat cannot. */
  async call(name: string, input: Json): Promise<Json | undefined> {
    if (!this.has('serverTools')) return undefined;
    const result = objectIn(await this.#request('tools/call', { name, arguments: input }), 'result');
    return result['isError'] === true || !isObject(result['structuredContent'])
      ? undefined
      : result['structuredContent'];
  }

  /** @returns whether the chat opened the address */
  async open(url: string): Promise<boolean> {
    const answer = await this.#request('ui/open-link', { url });
    return isObject(answer['result']) && answer['result']['isError'] !== true;
  }

  resized(height: number): void {
    this.#notify('ui/notifications/size-changed', { height });
  }

  #receive(message: Json, listener: ChatListener): void {
    const { id, method } = message;
    const params = objectIn(message, 'params');
    if (method === undefined) {
      if (typeof id === 'number') this.#pending.get(id)?.(message);
    } else if (id !== undefined) {
      const isKnown = method === 'ping' || method === 'ui/resource-teardown';
      this.#send({
        id,
        ...(isKnown ? { result: {} } : { error: { code: -32_601, message: 'no such method' } }),
      });
    } else if (method === 'ui/notifications/tool-input') listener.onInput(objectIn(params, 'arguments'));
    else if (method === 'ui/notifications/tool-result') listener.onResult(params);
    else if (method === 'ui/notifications/tool-cancelled') listener.onCancelled();
    else if (method === 'ui/notifications/host-context-changed') listener.onContext(params);
  }

  #request(method: string, params: Json): Promise<Json> {
    const id = (this.#next += 1);
    const answered = new Promise<Json>((resolve) => this.#pending.set(id, resolve));
    this.#send({ id, method, params });
    return answered.finally(() => this.#pending.delete(id));
  }

  #notify(method: string, params: Json): void {
    this.#send({ method, params });
  }

  #send(message: Json): void {
    // The chat's origin is not known: nothing secret is sent.
    window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object in that field, or an empty one. */
export function objectIn(value: Json, field: string): Json {
  const found = value[field];
  return isObject(found) ? found : {};
}

/** The objects in that list. */
export function objectsIn(value: Json, field: string): Json[] {
  const found = value[field];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** The text in that field, or an empty one. */
export function textIn(value: Json, field: string): string {
  const found = value[field];
  return typeof found === 'string' ? found : '';
}
