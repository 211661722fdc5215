import { look } from '#test/contracts/records/looks.contract.ts';
import { request } from 'node:http';
import type { TestHost } from '#test/support/in-process-host.ts';
import { skillTar } from '#test/support/skill-tar.ts';
import { bridgeProbes, HANDSHAKE, mirroredProbes } from './bridge-probes.ts';
import { declareCodeServer } from './code-server.ts';
import { e2bProbes } from './e2b-probes.ts';
import { editorProbes } from './editor-probes.ts';
import { ADA_ADMIN, ALICE } from './people.ts';
import { type MadeRun, startPreview } from './runs.ts';

/** A call that succeeds if its caller is allowed to make it. */
export interface Probe {
  readonly params?: Readonly<Record<string, string>>;
  /** Including the question mark. */
  readonly query?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Servers and files created so far: each call gets a new name. */
let declared = 0;

/**
 * The requests about alice's objects, by route, and the run of the calling agent: for routes that
 * need more than the id of the run, or of its sandbox, in the path.
 */
export function routeProbes(porthole: TestHost): Readonly<Record<string, (run: MadeRun) => Promise<Probe>>> {
  async function ask({ runId }: MadeRun): Promise<string> {
    const { records, ids } = porthole.host.services;
    const now = new Date();
    const expiresAt = new Date(now.getTime() + 60_000);
    const { id } = await records.approvals.ask(
      {
        id: ids.approval(),
        runId,
        tool: 'start_preview',
        args: { target_port: 3000 },
        message: 'Open it?',
        requestedAt: now,
        expiresAt,
      },
      { id: 'unknown', until: expiresAt },
      { keptSince: now, since: now, most: 9 },
    );
    return id;
  }

  /** Alice's; an upload by another caller creates a separate, new one. */
  async function addSkill(name: string): Promise<string> {
    const { records } = porthole.host.services;
    for (const { user, org } of [
      { user: 'bob', org: 'globex' },
      { user: 'carol', org: 'acme' },
      { user: 'ada', org: 'ops' },
      { user: 'service', org: 'service' },
    ]) {
      await records.skills.delete({ user, org }, name);
    }
    await porthole.call('PUT', `/api/skills/${name}`, { token: ALICE, body: skillTar(name) });
    return name;
  }

  async function addImage() {
    const image = { name: 'mine', reference: 'registry.test/mine:1' };
    await porthole.call('POST', '/api/images', { token: ADA_ADMIN, body: image });
    return image;
  }

  async function delegated({ sandboxId }: MadeRun): Promise<Probe> {
    const made = await porthole.call('POST', `/v1/sandbox/${sandboxId}/delegate`, {
      token: ALICE,
      body: { scopes: ['exec'] },
    });
    return {
      params: { id: sandboxId, delegation_id: made.json<{ delegation_id: string }>().delegation_id },
    };
  }

  /** The path of a new file. */
  async function written(sandboxId: string): Promise<string> {
    declared += 1;
    const path = `workspace/written-${declared}.txt`;
    await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/${path}`, { token: ALICE, body: 'a' });
    return path;
  }

  /** A process that waits for input. */
  const withProcess =
    (more: Omit<Probe, 'params'> = {}, request: object = { argv: ['cat'], tty: { cols: 80, rows: 24 } }) =>
    async ({ sandboxId }: MadeRun): Promise<Probe> => {
      const path = `/v1/sandbox/${sandboxId}/processes`;
      const made = await porthole.call('POST', path, { token: ALICE, body: request });
      return { params: { id: sandboxId, pid: made.json<{ id: string }>().id }, ...more };
    };

  const declaration = { argv: ['sleep', '600'], restart: 'never' };
  async function withServer({ sandboxId }: MadeRun): Promise<Probe> {
    declared += 1;
    const name = `s${declared}`;
    const path = `/v1/sandbox/${sandboxId}/servers/${name}`;
    await porthole.call('PUT', path, { token: ALICE, body: declaration });
    return { params: { id: sandboxId, name } };
  }

  const withCode =
    (more: Omit<Probe, 'params'> = {}) =>
    async ({ sandboxId }: MadeRun): Promise<Probe> => {
      await declareCodeServer(porthole, sandboxId, ALICE);
      return { params: { id: sandboxId, context: 'a' }, ...more };
    };

  const withCheckpoint =
    (body?: object) =>
    async ({ sandboxId }: MadeRun): Promise<Probe> => {
      const path = `/v1/sandbox/${sandboxId}/checkpoints`;
      const made = await porthole.call('POST', path, { token: ALICE, body: {} });
      const params = { id: sandboxId, checkpoint: made.json<{ id: string }>().id };
      return { params, ...(body !== undefined && { body }) };
    };

  async function withPreview({ runId }: MadeRun): Promise<Probe> {
    await startPreview(porthole, runId, 3000, ALICE);
    return { params: { id: runId, port: '3000' }, body: {} };
  }

  /** A live preview, by its session id. */
  const withSession =
    (body?: object) =>
    async ({ runId }: MadeRun) => {
      const { session_id: id } = await startPreview(porthole, runId, 3000, ALICE);
      return { params: { id }, ...(body !== undefined && { body }) };
    };

  function withMessage(body?: object) {
    return async ({ runId }: MadeRun): Promise<Probe> => {
      const path = `/api/runs/${runId}/inbox`;
      const sent = await porthole.call('POST', path, { token: ALICE, body: { text: 'Too small' } });
      const message = sent.json<{ message_id: string }>().message_id;
      return { params: { id: runId, message }, ...(body !== undefined && { body }) };
    };
  }

  const newWebhook = { url: 'https://example.com/hook', events: ['webhook.deleted'] };
  const withWebhook = async (): Promise<Probe> => {
    const listed = await porthole.call('GET', '/v1/webhooks', { token: ALICE });
    const [hook] = listed.json<{ webhooks: { id: string }[] }>().webhooks;
    if (hook !== undefined) return { params: { id: hook.id } };
    const made = await porthole.call('POST', '/v1/webhooks', { token: ALICE, body: newWebhook });
    return { params: { id: made.json<{ id: string }>().id } };
  };

  const newKey = { name: 'CI', scope: 'full' };

  const own: Readonly<Record<string, (run: MadeRun) => Promise<Probe>>> = {
    ...editorProbes(porthole),
    ...e2bProbes(porthole),
    createWebhook: async () => ({ body: newWebhook }),
    getWebhook: withWebhook,
    deleteWebhook: withWebhook,
    enableWebhook: withWebhook,
    testWebhook: withWebhook,
    rotateWebhookSecret: withWebhook,
    listWebhookDeliveries: withWebhook,
    redeliverWebhook: async () => {
      const { params } = await withWebhook();
      return { params: { ...params, delivery: 'whd_1' } };
    },
    redactAudit: async () => ({ body: { user: 'gone' } }),
    createKey: async () => ({ body: newKey }),
    revokeKey: async () => {
      const made = await porthole.call('POST', '/api/keys', { token: ALICE, body: newKey });
      return { params: { id: made.json<{ key_id: string }>().key_id } };
    },
    createProcess: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { argv: ['true'] } }),
    getProcess: withProcess(),
    deleteProcess: withProcess(),
    followProcess: withProcess(),
    sendProcessInput: withProcess({ body: 'a' }),
    signalProcess: withProcess({ body: {} }),
    resizeProcess: withProcess({ body: { cols: 100, rows: 30 } }),
    attachProcess: withProcess({ headers: HANDSHAKE }),
    waitForProcess: withProcess({ body: {} }, { argv: ['true'] }),
    putServer: async ({ sandboxId }) => {
      declared += 1;
      return { params: { id: sandboxId, name: `s${declared}` }, body: declaration };
    },
    getServer: withServer,
    deleteServer: withServer,
    startServer: withServer,
    stopServer: withServer,
    restartServer: withServer,
    followServer: withServer,
    runCode: withCode({ body: { code: '1' } }),
    listCodeContexts: withCode(),
    createCodeContext: withCode(),
    deleteCodeContext: withCode(),
    restartCodeContext: withCode(),
    interruptCodeContext: withCode(),
    createCheckpoint: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: {} }),
    getCheckpoint: withCheckpoint(),
    deleteCheckpoint: withCheckpoint(),
    checkpointChanges: withCheckpoint(),
    restoreCheckpoint: withCheckpoint({}),
    forkCheckpoint: withCheckpoint({}),
    async keepFork(run) {
      const { params } = await withCheckpoint()(run);
      const path = `/v1/sandbox/${run.sandboxId}/checkpoints/${params?.['checkpoint']}/fork`;
      const forked = await porthole.call('POST', path, { token: ALICE, body: {} });
      const [fork] = forked.json<{ sandboxes: { id: string }[] }>().sandboxes;
      return { params: { id: run.sandboxId }, body: { fork: fork?.id } };
    },
    setSandboxTimeout: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { seconds: 3_600 } }),
    compareSandboxes: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { with: sandboxId } }),
    waitForPort: async ({ sandboxId }) => ({
      params: { id: sandboxId, port: '9' },
      body: { state: 'closed' },
    }),
    getPreviewAccess: withSession(),
    setPreviewAccess: withSession({ level: 'link' }),
    createPreviewLink: withSession({ label: 'for carol' }),
    listPreviewLinks: withSession(),
    async revokePreviewLink(run) {
      const { params } = await withSession()(run);
      const made = await porthole.call('POST', `/v1/previews/${params.id}/links`, {
        token: ALICE,
        body: { label: 'for carol' },
      });
      return { params: { ...params, linkId: made.json<{ id: string }>().id } };
    },
    async shareAgentPreview(run) {
      const { session_id } = await startPreview(porthole, run.runId, 3000, ALICE);
      const body = { level: 'link' };
      await porthole.call('PUT', `/v1/previews/${session_id}/access`, { token: ALICE, body });
      return { params: { id: run.runId, port: '3000' }, body: { label: 'for carol' } };
    },
    listPreviewViewers: withSession(),
    blockPreviews: () => Promise.resolve({ body: { user: 'mallory', org: 'initech' } }),
    async unblockPreviews() {
      const owner = { user: 'mallory', org: 'initech' };
      await porthole.host.services.records.access.putBlock({ owner, reason: '', by: 'ada', at: new Date() });
      return { query: '?user=mallory&org=initech' };
    },
    createPreviewPass: withSession(),
    enterPreview: async (run) => ({ body: { preview: (await withSession()(run)).params.id } }),
    changeRun: async () => ({ body: { sharing: 'view' } }),
    signIn: async () => ({ body: { key: ALICE } }),
    startPortForward: async ({ runId }) => ({ params: { id: runId }, body: { target_port: 3000 } }),
    startAgentPreview: async ({ runId }) => ({ params: { id: runId }, body: { target_port: 3000 } }),
    comparePages: async (made) => {
      await withPreview(made);
      const { sandboxId } = made;
      return { params: { id: sandboxId }, body: { with: sandboxId, port: 3000 } };
    },
    lookAtPage: withPreview,
    checkPage: withPreview,
    findPageElement: async (run) => ({ ...(await withPreview(run)), body: { point: { x: 1, y: 1 } } }),
    getLookPicture: async ({ runId }) => {
      const { records, ids, clock } = porthole.host.services;
      const id = ids.look();
      const kept = look(id, { runId, at: clock.now() });
      const owner = { user: 'alice', org: 'acme' };
      await records.looks.add(kept, { owner, most: 50, pictures: 10 });
      return { params: { id: runId, look: id, picture: 'thumbnail' } };
    },
    readEventDetails: async ({ runId }) => ({ params: { id: runId, event: 'r1' } }),
    postComment: async ({ runId }) => ({ params: { id: runId }, body: { text: 'Too small' } }),
    getInboxMessage: withMessage(),
    replyToComment: withMessage({ text: 'Done' }),
    markInboxRead: async ({ runId }) => ({ params: { id: runId }, body: { messages: ['msg_1'] } }),
    keepPreviewAlive: async ({ runId }) => {
      const { session_id } = await startPreview(porthole, runId, 3000, ALICE);
      return { params: { id: runId, token: session_id } };
    },
    stopPortForward: async ({ runId }) => {
      const { session_id } = await startPreview(porthole, runId, 3000, ALICE);
      return { params: { id: runId, sessionId: session_id } };
    },
    decideApproval: async (run) => ({
      params: { id: run.runId },
      body: { request_id: await ask(run), decision: 'deny' },
    }),
    deleteApprovalPolicy: async (run) => {
      const { records, ids, clock } = porthole.host.services;
      const policyId = ids.policy();
      await records.approvals.decide(
        run.runId,
        await ask(run),
        { outcome: 'approved', scope: 'run', reason: null, by: 'alice', policyId },
        clock.now(),
      );
      return { params: { id: policyId } };
    },
    callMcp: async () => ({
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
      headers: { accept: 'application/json, text/event-stream' },
    }),
    execCommand: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { argv: ['true'] } }),
    ptyTerminal: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      headers: HANDSHAKE,
    }),
    readFile: async ({ sandboxId }) => ({ params: { id: sandboxId, path: 'workspace/a.txt' } }),
    writeFile: async ({ sandboxId }) => ({ params: { id: sandboxId, path: 'workspace/b.txt' }, body: 'b' }),
    deleteFile: async ({ sandboxId }) => ({ params: { id: sandboxId, path: await written(sandboxId) } }),
    moveFile: async ({ sandboxId }) => {
      const from = `/${await written(sandboxId)}`;
      return { params: { id: sandboxId }, body: { from, to: `${from}.moved` } };
    },
    searchFiles: async ({ sandboxId }) => ({ params: { id: sandboxId }, query: '?text=a' }),
    makeFolder: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { path: 'made' } }),
    deleteArchive: async ({ sandboxId }) => {
      const { records } = porthole.host.services;
      const sandbox = await records.sandboxes.get(sandboxId);
      if (sandbox === undefined) throw new Error('the sandbox has no record');
      const id = `arc_${sandboxId}_${sandbox.generation}`;
      const about = { key: 'nowhere', size: 1, leftOut: 0, createdAt: new Date() };
      await records.archives.put({ id, sandbox, owner: sandbox.owner, ...about });
      return { params: { id } };
    },
    uploadFiles: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      body: Buffer.from(
        '--x\r\nContent-Disposition: form-data; name="f"; filename="c.txt"\r\n\r\nc\r\n--x--\r\n',
      ),
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    }),
    mountBucket: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      body: { bucket: 'nowhere', mountPath: '/mnt/data', options: {} },
    }),
    unmountBucket: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { mountPath: '/mnt/data' } }),
    hydrateWorkspace: async ({ sandboxId }) => ({
      params: { id: sandboxId },
      body: Buffer.alloc(1_024),
      headers: { 'content-type': 'application/x-tar' },
    }),
    deleteSession: async ({ sandboxId }) => {
      const session = await porthole.call('POST', `/v1/sandbox/${sandboxId}/session`, { token: ALICE });
      return { params: { id: sandboxId, sid: session.json<{ id: string }>().id } };
    },
    delegateSandbox: async ({ sandboxId }) => ({ params: { id: sandboxId }, body: { scopes: ['exec'] } }),
    renewDelegation: delegated,
    revokeDelegation: delegated,
    validateSandbox: async ({ sandboxId }) => ({
      body: { sandbox_id: sandboxId, credential: ALICE, org: 'acme' },
    }),
    createTunnel: async ({ sandboxId }) => ({ params: { id: sandboxId, port: '3000' }, body: {} }),
    deleteSandboxes: async () => ({ query: '?tag=made_by:unknown' }),
    getSkill: async () => ({ params: { name: await addSkill('read') } }),
    putSkill: async () => ({
      params: { name: await addSkill('put') },
      body: skillTar('put'),
      headers: { 'content-type': 'application/x-tar' },
    }),
    deleteSkill: async () => ({ params: { name: await addSkill('deleted') } }),
    putImage: async () => ({ body: await addImage() }),
    deleteImage: async () => ({ params: { name: (await addImage()).name } }),
    deleteTunnel: async ({ sandboxId }) => ({ params: { id: sandboxId, port: '3000' } }),
    getOpenApiAsset: async () => ({ params: { name: 'start.js' } }),
  };
  return { ...own, ...mirroredProbes(own), ...bridgeProbes(porthole) };
}

/** Only the status: streams are closed once they begin. */
export function statusOf(
  porthole: TestHost,
  method: string,
  path: string,
  token: string | undefined,
  probe: Probe,
): Promise<number> {
  const body =
    probe.body === undefined || typeof probe.body === 'string' || probe.body instanceof Buffer
      ? probe.body
      : JSON.stringify(probe.body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: porthole.host.port,
        method,
        path,
        agent: false,
        headers: {
          ...(typeof probe.body === 'object' ? { 'content-type': 'application/json' } : {}),
          ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...probe.headers,
        },
      },
      (response) => {
        resolve(response.statusCode ?? 0);
        outgoing.destroy();
      },
    );
    outgoing.once('upgrade', ({ statusCode }, socket) => {
      resolve(statusCode ?? 0);
      socket.destroy();
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
