import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { splice } from '#proxy/splice.ts';
import { hostText, type NetworkHost, readHost } from '#core/network/network-host.ts';
import {
  decideNetwork,
  type Destination,
  destinationText,
  type NetworkDecision,
  type NetworkPolicy,
  type PresetRule,
} from '#core/network/network-policy.ts';
import { type SandboxAuthority, type SandboxSecrets, secretsFor } from '#core/network/network-secrets.ts';
import type { BlockedHost, NetworkAttempt, NetworkQuestion } from '#core/network/network.ts';
import { traced } from '#core/telemetry/tracing.ts';
import { readFirstFlight } from './client-hello.ts';
import {
  type Dialled,
  dialDestination,
  DialError,
  type DialOptions,
  proxyAuthorization,
} from './dial-destination.ts';
import { answerHeaders, framingHeaders, requestHeaders } from './forwarded-headers.ts';
import { HostCertificates } from './sandbox-authority.ts';
import { acceptTls, connectTls, serveIntercepted, trustedBy } from './intercept-tls.ts';
import { createProxyFront, type TunnelRequest } from './proxy-front.ts';

export interface NetworkBrokerDeps extends DialOptions {
  readonly presets: readonly PresetRule[];
  /** Undefined for a sandbox that does not exist. */
  policyOf(sandboxId: string): Promise<NetworkPolicy | undefined>;
  /** Read for each connection, and for each intercepted request. */
  secretsOf(sandboxId: string): Promise<SandboxSecrets>;
  /** PEM. Authorities of this machine that intercepted hosts may have, beside the system's. */
  readonly certificates: string | undefined;
  /** Asks the owner. Resolves with undefined when allowed, else with the reason. */
  ask(question: NetworkQuestion, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Called at the end of each connection, and before each refusal, which waits for what it
   * returns.
   */
  attempted(sandboxId: string, attempt: NetworkAttempt): void | Promise<void>;
  /**
   * Calls `changed` after each change of the policy by another process, and whenever one may have
   * been missed. Returns a function that stops watching.
   * @default policies change by `policyChanged` alone
   */
  watchPolicy?: ((sandboxId: string, changed: () => void) => () => void) | undefined;
  /** Explains how the owner can allow a blocked host, or why nothing does. */
  hint(sandboxId: string, blocked: BlockedHost): string;
}

/**
 * Timeout for a ClientHello, in milliseconds. A later one is not from a TLS client, or is hostile.
 */
const FIRST_FLIGHT_MS = 30_000;

/** State of one connection, from the request to its last byte. */
interface Flow {
  readonly sandboxId: string;
  readonly destination: Destination;
  readonly began: number;
  readonly ended: AbortController;
  decision: NetworkDecision;
  /** The owner has allowed this connection. */
  approved: boolean;
  bytesOut: number;
  bytesIn: number;
  isReported: boolean;
  /** Names of the secrets that were inserted. */
  readonly secrets: Set<string>;
}

class Blocked extends Error {
  override readonly name = 'Blocked';
}

/**
 * Opens every connection of the sandboxes on this machine. Sandbox traffic is untrusted input. A
 * sandbox's policy decides which hosts it may reach, and can change while connections are open.
 */
export class NetworkBroker {
  readonly #deps: NetworkBrokerDeps;
  readonly #flows = new Map<string, Set<Flow>>();
  readonly #watched = new Map<string, () => void>();
  readonly #stopped = new AbortController();
  readonly #hosts = new HostCertificates();
  #trusted: SecureContext | undefined;

  constructor(deps: NetworkBrokerDeps) {
    this.#deps = deps;
  }

  /** The proxy server of one sandbox; not listening yet. */
  serverFor(sandboxId: string): Server {
    return createProxyFront({
      tunnel: (tunnel) => void this.#tunnel(sandboxId, tunnel),
      request: (request, response, clientPort) =>
        void this.#request(sandboxId, request, response, clientPort),
    });
  }

  /** Ends the open connections that the sandbox's policy no longer allows. */
  async policyChanged(sandboxId: string): Promise<void> {
    const flows = this.#flows.get(sandboxId);
    if (flows === undefined) return;
    const policy = await this.#deps.policyOf(sandboxId);
    for (const flow of flows) {
      const decision = this.#decide(policy, flow.destination);
      if (decision.kind === 'allow' || (decision.kind === 'ask' && flow.approved)) continue;
      // A connection that waits for approval is refused with the new reason.
      if (flow.decision.kind !== 'allow') flow.decision = { ...decision, kind: 'deny' };
      flow.ended.abort(new Blocked(decision.rule));
    }
  }

  /** Ends all connections of the sandbox where its policy cannot be read: a policy fails closed. */
  async #refresh(sandboxId: string): Promise<void> {
    try {
      await this.policyChanged(sandboxId);
    } catch {
      for (const flow of this.#flows.get(sandboxId) ?? []) flow.ended.abort(new Error('no policy'));
    }
  }

  /** Ends every connection. */
  close(): void {
    this.#stopped.abort();
    for (const flows of this.#flows.values()) for (const flow of flows) flow.ended.abort(new Error('closed'));
  }

  async #tunnel(sandboxId: string, { host, port, clientPort, client, head, ...answers }: TunnelRequest) {
    const named = readHost(host);
    if (named === undefined)
      return answers.refuse('blocked', `${JSON.stringify(host)} is not a host name.\n`);
    const flow = this.#begin(sandboxId, { host: named, port });
    client.once('close', () => flow.ended.abort());
    try {
      const { socket } = await this.#open(flow, clientPort);
      const secrets = await this.#deps.secretsOf(sandboxId);
      if (secretsFor(secrets, flow.destination).length > 0) {
        await this.#intercept(flow, secrets, socket, { client, head, accept: answers.accept });
        return;
      }
      if (head.length > 0) client.unshift(head);
      answers.accept();
      endTogether(flow, client, socket);
      await this.#checkServerName(flow, client, socket);
      splice(client, socket, (from, { length }) => (flow[from === 'a' ? 'bytesOut' : 'bytesIn'] += length));
      socket.once('close', () => this.#end(flow));
    } catch (error) {
      await this.#fail(flow, error, client, answers.refuse);
    }
  }

  async #request(
    sandboxId: string,
    request: IncomingMessage,
    response: ServerResponse,
    clientPort: number | undefined,
  ): Promise<void> {
    const refuse = (how: 'blocked' | 'unreachable' | 'invalid', message: string): void => {
      if (response.headersSent) return void response.destroy();
      const status = { blocked: 403, unreachable: 502, invalid: 400 }[how];
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
      response.end(message);
    };
    const url = absoluteUrl(request.url);
    const host = url && readHost(url.hostname);
    if (url === undefined || host === undefined) {
      return refuse('invalid', 'This is a proxy: send the whole URL of plain HTTP, or CONNECT.\n');
    }
    const path = `${url.pathname}${url.search}`;
    const destination = { host, port: Number(url.port || 80), http: { method: request.method ?? '', path } };
    const flow = this.#begin(sandboxId, destination);
    response.once('close', () => flow.ended.abort());
    try {
      const { socket, proxy } = await this.#open(flow, clientPort);
      const [secret] = secretsFor(await this.#deps.secretsOf(sandboxId), destination);
      if (secret !== undefined) {
        socket.destroy();
        flow.decision = { kind: 'deny', rule: `secret ${secret.name} needs https`, refusal: 'needs https' };
        throw new Blocked(flow.decision.rule);
      }
      flow.ended.signal.addEventListener('abort', () => {
        socket.destroy();
        if (!response.writableFinished) response.destroy();
      });
      const authorization = proxy && proxyAuthorization(proxy);
      const outgoing = httpRequest({
        createConnection: () => socket,
        method: request.method ?? '',
        path: proxy === undefined ? path : url.href,
        setHost: false,
        headers: {
          ...requestHeaders(request),
          host: url.host,
          connection: 'close',
          ...framingHeaders(request),
          ...(authorization !== undefined && { 'proxy-authorization': authorization }),
        },
      });
      outgoing.once('response', (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answerHeaders(answer));
        answer.on('data', (chunk: Buffer) => (flow.bytesIn += chunk.length));
        answer.on('error', () => response.destroy());
        answer.pipe(response);
      });
      outgoing.once('error', () => refuse('unreachable', `${destinationText(destination)} hung up.\n`));
      socket.once('close', () => this.#end(flow));
      request.on('data', (chunk: Buffer) => (flow.bytesOut += chunk.length));
      request.pipe(outgoing);
    } catch (error) {
      await this.#fail(flow, error, response, refuse);
    }
  }

  #begin(sandboxId: string, destination: Destination): Flow {
    const flow: Flow = {
      sandboxId,
      destination,
      began: performance.now(),
      ended: new AbortController(),
      decision: { kind: 'deny', rule: 'undecided' },
      approved: false,
      bytesIn: 0,
      bytesOut: 0,
      isReported: false,
      secrets: new Set(),
    };
    // Registered before its policy is read, so that every later policy change applies to it
    // (TOCTOU).
    const flows = this.#flows.get(sandboxId) ?? new Set();
    this.#flows.set(sandboxId, flows.add(flow));
    if (!this.#watched.has(sandboxId)) {
      const end = this.#deps.watchPolicy?.(sandboxId, () => void this.#refresh(sandboxId));
      if (end !== undefined) this.#watched.set(sandboxId, end);
    }
    if (this.#stopped.signal.aborted) flow.ended.abort(new Error('closed'));
    return flow;
  }

  /**
   * Evaluates the policy, asks the owner where it requires approval, and connects. @throws Blocked,
   * DialError
   */
  async #open(flow: Flow, clientPort: number | undefined): Promise<Dialled> {
    const { sandboxId, destination, ended } = flow;
    await traced({ name: 'egress.decision', attributes: { 'porthole.sandbox.id': sandboxId } }, (span) =>
      this.#authorize(flow, clientPort).finally(() =>
        span?.set({ 'porthole.egress.decision': flow.decision.kind }),
      ),
    );
    ended.signal.throwIfAborted();
    const dialled = await dialDestination(
      destination,
      flow.decision.mayBePrivate === true,
      this.#deps,
      ended.signal,
    );
    if (!ended.signal.aborted) return dialled;
    dialled.socket.destroy();
    throw ended.signal.reason;
  }

  /** @throws Blocked */
  async #authorize(flow: Flow, clientPort: number | undefined): Promise<void> {
    const { sandboxId, destination, ended } = flow;
    flow.decision = this.#decide(await this.#deps.policyOf(sandboxId), destination);
    if (flow.decision.kind === 'deny') throw new Blocked(flow.decision.rule);
    if (flow.decision.kind === 'ask') {
      const question = { sandboxId, host: hostText(destination.host), port: destination.port, clientPort };
      const refusal = await this.#deps.ask(question, ended.signal);
      flow.decision = {
        kind: refusal === undefined ? 'allow' : 'deny',
        rule: refusal ?? 'approved by the owner',
      };
      if (refusal !== undefined) throw new Blocked(refusal);
      flow.approved = true;
    }
  }

  #decide(policy: NetworkPolicy | undefined, destination: Destination): NetworkDecision {
    if (policy === undefined) return { kind: 'deny', rule: 'no such sandbox' };
    return decideNetwork(policy, this.#deps.presets, destination, true);
  }

  /**
   * Prevents domain fronting: many hosts route by the TLS server name, not by the requested host. A
   * server that speaks first does not use TLS.
   */
  async #checkServerName(flow: Flow, client: Duplex, socket: Socket): Promise<void> {
    const { sandboxId, destination, ended } = flow;
    const isOpen = flow.decision.rule === 'network: open';
    // An address would bypass the rules of `deny`, which are names.
    if (isOpen && (await this.#deps.policyOf(sandboxId))?.deny.length === 0) return;
    const flight = await firstFlight(client, socket, ended.signal);
    if (isOpen && flight.kind !== 'tls') return;
    if (flight.kind !== 'broken' && (flight.kind !== 'tls' || flight.name === undefined)) return;
    const name = flight.kind === 'tls' ? readHost(flight.name ?? '') : undefined;
    if (name !== undefined && isSame(name, destination.host)) return;
    const other =
      name && this.#decide(await this.#deps.policyOf(sandboxId), { host: name, port: destination.port });
    if (other?.kind === 'allow' || (isOpen && other === undefined)) return;
    if (name === undefined) throw block(flow, 'no valid TLS', 'needs https');
    throw block(flow, `TLS for ${hostText(name)}`, 'other host');
  }

  /**
   * Terminates the program's TLS and opens another to the host, with the machine's authorities.
   * Requests go from one to the other with the values of the secrets. Ends with either.
   */
  async #intercept(
    flow: Flow,
    secrets: SandboxSecrets,
    socket: Socket,
    { client, head, accept }: Pick<TunnelRequest, 'client' | 'head' | 'accept'>,
  ): Promise<void> {
    const { sandboxId, destination, ended } = flow;
    endTogether(flow, client, socket);
    const name = hostText(destination.host);
    this.#trusted ??= trustedBy(this.#deps.certificates);
    const [server, context] = await Promise.all([
      connectTls(socket, name, this.#trusted, ended.signal),
      this.#hosts.contextFor(secrets.authority as SandboxAuthority, name),
    ]);
    if (head.length > 0) client.unshift(head);
    accept();
    const flight = await firstFlight(client, server, ended.signal);
    const asked = flight.kind === 'tls' ? readHost(flight.name ?? '') : undefined;
    if (asked === undefined || !isSame(asked, destination.host)) {
      if (flight.kind === 'tls') throw block(flow, `TLS for ${flight.name ?? 'no name'}`, 'other host');
      throw block(flow, `no TLS, which secrets of ${name} need`, 'needs https');
    }
    const program = await acceptTls(client, context, ended.signal).catch((cause: unknown) => {
      if (ended.signal.reason instanceof Blocked) throw ended.signal.reason;
      const { code = 'closed' } = cause as NodeJS.ErrnoException;
      const names = secretsFor(secrets, destination).map((secret) => secret.name);
      throw new DialError(
        `the program refuses the certificate of this sandbox for ${name} (${code}), which secret ${names.join(', ')} needs`,
        { cause },
      );
    });
    if (server.destroyed) throw new DialError(`${destinationText(destination)} hung up`);
    server.once('close', () => this.#end(flow));
    serveIntercepted(program, server, {
      destination,
      secrets: async () => secretsFor(await this.#deps.secretsOf(sandboxId), destination),
      inserted: (names) => names.forEach((each) => flow.secrets.add(each)),
      passed: (from, count) => (flow[from === 'program' ? 'bytesOut' : 'bytesIn'] += count),
      misdirected: (host) => void block(flow, `Host ${host.slice(0, 260)}`, 'other host'),
    });
  }

  async #fail(
    flow: Flow,
    error: unknown,
    to: { readonly destroyed: boolean },
    refuse: (how: 'blocked' | 'unreachable', message: string) => void,
  ): Promise<void> {
    await this.#report(flow, error);
    if (!to.destroyed) refuse(...this.#refusal(flow, error));
    this.#end(flow);
  }

  #refusal({ sandboxId, destination, decision }: Flow, error: unknown): ['blocked' | 'unreachable', string] {
    const failure = error instanceof DialError ? error : undefined;
    if (!(error instanceof Blocked) && failure?.refusal === undefined) {
      return ['unreachable', `${failure?.message ?? 'Cut off'}.\n`];
    }
    const rule = failure?.message ?? decision.rule;
    const refusal = failure?.refusal ?? decision.refusal;
    const blocked = { host: hostText(destination.host), port: destination.port, rule, refusal };
    const hint = this.#deps.hint(sandboxId, blocked);
    return ['blocked', `${destinationText(destination)} is blocked (${rule}). ${hint}\n`];
  }

  #end(flow: Flow): void {
    const { sandboxId } = flow;
    const flows = this.#flows.get(sandboxId);
    if (flows?.delete(flow) !== true) return;
    if (flows.size === 0) {
      this.#flows.delete(sandboxId);
      this.#watched.get(sandboxId)?.();
      this.#watched.delete(sandboxId);
    }
    flow.ended.abort();
    void this.#report(flow);
  }

  /** Adds a connection to the log, once. */
  #report(flow: Flow, error?: unknown): void | Promise<void> {
    const { sandboxId, destination, decision, began, bytesIn, bytesOut } = flow;
    if (flow.isReported) return;
    flow.isReported = true;
    const refusal = error instanceof DialError ? error.refusal : decision.refusal;
    const isRefused = decision.kind !== 'allow' || refusal !== undefined;
    return this.#deps.attempted(sandboxId, {
      host: hostText(destination.host),
      port: destination.port,
      decision: isRefused ? 'blocked' : error === undefined ? 'allowed' : 'failed',
      rule: error instanceof DialError ? error.message : ruleOf(flow),
      refusal,
      bytesIn,
      bytesOut,
      ms: Math.round(performance.now() - began),
    });
  }
}

/** Ends an allowed connection that carries content for another host. */
function block(flow: Flow, rule: string, refusal: NetworkDecision['refusal']): Blocked {
  flow.decision = { kind: 'deny', rule, refusal };
  flow.ended.abort(new Blocked(rule));
  return flow.ended.signal.reason as Blocked;
}

function endTogether({ ended }: Flow, client: Duplex, socket: Socket): void {
  ended.signal.addEventListener('abort', () => {
    socket.destroy();
    client.destroy();
  });
}

/** Names the inserted secrets. */
function ruleOf({ decision: { rule }, secrets }: Flow): string {
  return secrets.size === 0 ? rule : `${rule}, secret ${[...secrets].join(', ')}`;
}

function isSame(a: NetworkHost, b: NetworkHost): boolean {
  return a.kind === b.kind && hostText(a) === hostText(b);
}

function absoluteUrl(text: string | undefined): URL | undefined {
  const url = URL.parse(text ?? '');
  return url?.protocol === 'http:' ? url : undefined;
}

/** Leaves all bytes in both streams. */
async function firstFlight(
  client: Duplex,
  server: Socket,
  signal: AbortSignal,
): Promise<ReturnType<typeof readFirstFlight>> {
  const bytes: Buffer[] = [];
  const timer = AbortSignal.timeout(FIRST_FLIGHT_MS);
  const until = AbortSignal.any([signal, timer]);
  try {
    while (true) {
      const speaker = await whoSpeaks(client, server, until);
      if (speaker !== 'client') return { kind: 'other' };
      bytes.push(client.read() as Buffer);
      const flight = readFirstFlight(Buffer.concat(bytes));
      if (flight.kind !== 'incomplete') return flight;
    }
  } finally {
    if (bytes.length > 0) client.unshift(Buffer.concat(bytes));
  }
}

/** Resolves once one of the two has bytes to read or has ended. */
function whoSpeaks(
  client: Duplex,
  server: Socket,
  until: AbortSignal,
): Promise<'client' | 'server' | 'neither'> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (until.aborted) settle(() => reject(until.reason));
      else if (client.readableLength > 0) settle(() => resolve('client'));
      else if (server.readableLength > 0) settle(() => resolve('server'));
      else if (client.readableEnded || client.destroyed || server.readableEnded || server.destroyed) {
        settle(() => resolve('neither'));
      }
    };
    const settle = (finish: () => void): void => {
      for (const stream of [client, server]) stream.off('readable', look).off('end', look).off('close', look);
      until.removeEventListener('abort', look);
      finish();
    };
    for (const stream of [client, server]) stream.on('readable', look).on('end', look).on('close', look);
    until.addEventListener('abort', look);
    look();
  });
}
