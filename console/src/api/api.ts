/** Written by build/write-console-api-types.ts from the OpenAPI document: what each route takes and gives. */

/**
 * A host (`api.example.com`), every name below one (`*.example.com`), with ports (`db.example.com:5432`). As an object, with `ports`, and `methods` and path prefixes of plain HTTP
 */
export type NetworkRule =
  | string
  | {
      host: string;
      ports?: number[];
      methods?: string[];
      paths?: string[];
    };

export interface Api {
  'POST /api/runs': {
    path: {};
    query: {};
    body: CreateRunRequest;
    answer: CreatedRun;
  };
  'GET /api/runs': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
      /**
       * Text that a name or id contains; the case of A to Z is ignored
       */
      query?: string;
      /**
       * User name of the owner
       */
      owner?: string;
      /**
       * Image of the sandbox; `default` for sandboxes that requested none
       */
      image?: string;
      /**
       * Created at this time or later
       */
      created_after?: string;
      /**
       * Created before this time
       */
      created_before?: string;
      /**
       * Whether `total` is counted
       */
      count?: 'true' | 'false';
      status?: 'running' | 'completed';
      sandbox_id?: string;
      /**
       * `key:value`
       */
      tag?: string;
      /**
       * `title`: in the order of their titles, ignoring the case of A to Z
       */
      sort?: 'newest' | 'oldest' | 'title';
    };
    body: null;
    answer: RunList;
  };
  'GET /api/runs/{id}': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: Run;
  };
  'POST /api/runs/{id}/complete': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: Run;
  };
  'POST /api/runs/{id}/agent-token': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: RotatedAgentToken;
  };
  'GET /api/runs/{id}/timeline': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      limit?: number;
      /**
       * `next` of the page before, or the `id` of any event
       */
      after?: string;
    };
    body: null;
    answer: Timeline;
  };
  'GET /api/runs/{id}/events': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      /**
       * The same as `Last-Event-ID`, which wins
       */
      after?: string;
    };
    body: null;
    answer: null;
  };
  'GET /api/runs/{id}/activity': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      limit?: number;
      /**
       * `next` of the page before, or the `cursor` of any event
       */
      after?: string;
    };
    body: null;
    answer: Activity;
  };
  'GET /api/runs/{id}/activity/events': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      /**
       * The same as `Last-Event-ID`, which wins
       */
      after?: string;
    };
    body: null;
    answer: null;
  };
  'POST /api/runs/{id}/sandbox/port-forward': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: StartPreviewRequest;
    answer: StartedPortForwardSession;
  };
  'GET /api/runs/{id}/sandbox/port-forward': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: PortForwardSession[];
  };
  'POST /api/runs/{id}/sandbox/preview': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: StartPreviewRequest;
    answer: StartedPortForwardSession;
  };
  'POST /api/runs/{id}/sandbox/preview/{token}/keepalive': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * `session_id` of the preview
       */
      token: string;
    };
    query: {};
    body: null;
    answer: KeptAlive;
  };
  'DELETE /api/runs/{id}/sandbox/port-forward/{sessionId}': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * `session_id` of the preview
       */
      sessionId: string;
    };
    query: {};
    body: null;
    answer: StoppedSession;
  };
  'GET /api/runs/{id}/sandbox/doctor': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      /**
       * The port to look into; without it every one that listens
       */
      port?: string;
      /**
       * Also open each live preview that answers, four at most, in a browser: takes seconds
       */
      check?: 'true' | 'false';
    };
    body: null;
    answer: Diagnosis;
  };
  'POST /api/runs/{id}/previews/{port}/look': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * The port of a live preview
       */
      port: string;
    };
    query: {};
    body: LookAtPageRequest;
    answer: PageLook;
  };
  'POST /api/runs/{id}/previews/{port}/check': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * The port of a live preview
       */
      port: string;
    };
    query: {};
    body: CheckPageRequest;
    answer: PageCheck;
  };
  'GET /api/runs/{id}/looks': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: KeptLooks;
  };
  'GET /api/runs/{id}/looks/{look}/{picture}': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * `look_id`
       */
      look: string;
      picture: 'picture' | 'thumbnail';
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /api/runs/{id}/previews/{port}/element': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * The port of a live preview
       */
      port: string;
    };
    query: {};
    body: FindElementRequest;
    answer: PageElement;
  };
  'POST /api/runs/{id}/inbox': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: InboxComment;
    answer: InboxMessage;
  };
  'GET /api/runs/{id}/inbox': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {
      /**
       * Only what the other side sent and this side has not read
       */
      unread?: 'true' | 'false';
    };
    body: null;
    answer: Inbox;
  };
  'GET /api/runs/{id}/inbox/{message}': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * `message_id`
       */
      message: string;
    };
    query: {};
    body: null;
    answer: InboxMessageWithPicture;
  };
  'POST /api/runs/{id}/inbox/{message}/replies': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
      /**
       * `message_id`
       */
      message: string;
    };
    query: {};
    body: InboxReply;
    answer: InboxMessage;
  };
  'POST /api/runs/{id}/inbox/read': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: InboxRead;
    answer: null;
  };
  'POST /api/runs/{id}/tool-approvals': {
    path: {
      /**
       * Run id, `[A-Za-z0-9_-]{1,64}`
       */
      id: string;
    };
    query: {};
    body: ApprovalDecision;
    answer: DecidedApproval;
  };
  'GET /api/approvals': {
    path: {};
    query: {};
    body: null;
    answer: WaitingApprovals;
  };
  'GET /api/approvals/events': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /api/approval-policies': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
    };
    body: null;
    answer: ApprovalPolicyList;
  };
  'DELETE /api/approval-policies/{id}': {
    path: {
      /**
       * `policy_id`
       */
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /mcp': {
    path: {};
    query: {};
    body:
      | {
          [k: string]: unknown;
        }
      | {
          [k: string]: unknown;
        }[];
    answer: null;
  };
  'POST /v1/sandbox': {
    path: {};
    query: {};
    body: CreateSandboxRequest;
    answer: MadeSandbox;
  };
  'GET /v1/sandbox': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
      /**
       * Text that a name or id contains; the case of A to Z is ignored
       */
      query?: string;
      /**
       * User name of the owner
       */
      owner?: string;
      /**
       * Image of the sandbox; `default` for sandboxes that requested none
       */
      image?: string;
      /**
       * Created at this time or later
       */
      created_after?: string;
      /**
       * Created before this time
       */
      created_before?: string;
      /**
       * Whether `total` is counted
       */
      count?: 'true' | 'false';
      state?: 'creating' | 'running' | 'stopped';
      name?: string;
      session_key?: string;
      /**
       * `key:value`
       */
      tag?: string;
      /**
       * `active`: the last used first. `name`: in the order of names, those without one first
       */
      sort?: 'newest' | 'oldest' | 'active' | 'name';
    };
    body: null;
    answer: SandboxList;
  };
  'DELETE /v1/sandbox': {
    path: {};
    query: {
      /**
       * `key:value`
       */
      tag: string;
      /**
       * Whether the others go, too
       */
      force?: 'true' | 'false';
    };
    body: null;
    answer: DeletedSandboxes;
  };
  'GET /v1/sandbox/{id}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: SandboxDetail;
  };
  'PATCH /v1/sandbox/{id}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: ChangeSandboxRequest;
    answer: NetworkPolicy;
  };
  'DELETE /v1/sandbox/{id}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/network': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * `ocsf`: the attempts alone, as OCSF events of the class Network Activity (4001), one a line (NDJSON)
       */
      format?: 'json' | 'ocsf';
    };
    body: null;
    answer: SandboxNetwork;
  };
  'GET /v1/sandbox/{id}/running': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: RunningResponse;
  };
  'POST /v1/sandbox/{id}/exec': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: ExecRequest;
    answer: ExecResult;
  };
  'GET /v1/sandbox/{id}/pty': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Columns, 1 to 4096
       */
      cols?: number;
      /**
       * Rows, 1 to 4096
       */
      rows?: number;
      /**
       * Name or path of a program; default: bash
       */
      shell?: string;
      /**
       * Session of the terminal; the header `Session-Id` takes precedence
       */
      session?: string;
    };
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/file/{path}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Absolute path without its leading slash, each segment percent-encoded, e.g. `workspace/a.txt`
       */
      path: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'PUT /v1/sandbox/{id}/file/{path}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Absolute path without its leading slash, each segment percent-encoded, e.g. `workspace/a.txt`
       */
      path: string;
    };
    query: {};
    body: null;
    answer: WriteResponse;
  };
  'DELETE /v1/sandbox/{id}/file/{path}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Absolute path without its leading slash, each segment percent-encoded, e.g. `workspace/a.txt`
       */
      path: string;
    };
    query: {
      recursive?: 'true' | 'false';
    };
    body: null;
    answer: DeleteFileResponse;
  };
  'POST /v1/sandbox/{id}/move': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: {
      /**
       * Relative to /workspace, or absolute below it
       */
      from: string;
      /**
       * Its new path
       */
      to: string;
      /**
       * Whether a file at `to` is replaced; a folder never is
       */
      overwrite?: boolean;
    };
    answer: MoveResponse;
  };
  'GET /v1/sandbox/{id}/watch': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Within /workspace, the default; relative ones count from there
       */
      path?: string;
      /**
       * Whether folders below are watched
       */
      recursive?: 'true' | 'false';
    };
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/files': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Within /workspace, the default; relative ones count from there
       */
      path?: string;
      /**
       * 1: what is in the folder itself
       */
      depth?: number;
    };
    body: null;
    answer: FileList;
  };
  'POST /v1/sandbox/{id}/files': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Within /workspace, the default; relative ones count from there
       */
      path?: string;
    };
    body: null;
    answer: UploadedFiles;
  };
  'GET /v1/sandbox/{id}/archive': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Within /workspace, the default; relative ones count from there
       */
      path?: string;
      format?: 'tar' | 'zip';
    };
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/persist': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * Paths below /workspace to leave out, comma-separated
       */
      excludes?: string;
    };
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/hydrate': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: HydrateResponse;
  };
  'POST /v1/sandbox/{id}/mount': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: MountBucketRequest;
    answer: OkResponse;
  };
  'POST /v1/sandbox/{id}/unmount': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: UnmountBucketRequest;
    answer: OkResponse;
  };
  'POST /v1/sandbox/{id}/session': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: CreateSessionRequest;
    answer: SessionId;
  };
  'DELETE /v1/sandbox/{id}/session/{sid}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Session id
       */
      sid: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/tunnel/{port}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * TCP port in the sandbox, in the range that previews may have
       */
      port: string;
    };
    query: {};
    body: TunnelRequest;
    answer: Tunnel;
  };
  'DELETE /v1/sandbox/{id}/tunnel/{port}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * TCP port in the sandbox, in the range that previews may have
       */
      port: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/processes': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: ProcessRequest;
    answer: Process;
  };
  'GET /v1/sandbox/{id}/processes': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: ProcessList;
  };
  'GET /v1/sandbox/{id}/processes/{pid}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {};
    body: null;
    answer: Process;
  };
  'DELETE /v1/sandbox/{id}/processes/{pid}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/processes/{pid}/output': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {
      /**
       * A cursor: output begins behind it. `Last-Event-ID` wins
       */
      since?: string;
      /**
       * Goes on with what comes, until the exit
       */
      follow?: 'true' | 'false';
    };
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/processes/{pid}/input': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {
      eof?: 'true' | 'false';
    };
    body: null;
    answer: InputTaken;
  };
  'POST /v1/sandbox/{id}/processes/{pid}/signal': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {};
    body: SignalRequest;
    answer: Process;
  };
  'POST /v1/sandbox/{id}/processes/{pid}/resize': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {};
    body: TerminalSize;
    answer: Process;
  };
  'POST /v1/sandbox/{id}/processes/{pid}/wait': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Process id, as POST …/processes answers it
       */
      pid: string;
    };
    query: {};
    body: ProcessWait;
    answer: Process;
  };
  'PUT /v1/sandbox/{id}/servers/{name}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: ServerRequest;
    answer: Server;
  };
  'GET /v1/sandbox/{id}/servers/{name}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: null;
    answer: Server;
  };
  'DELETE /v1/sandbox/{id}/servers/{name}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/servers': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: ServerList;
  };
  'POST /v1/sandbox/{id}/servers/{name}/start': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: null;
    answer: Server;
  };
  'POST /v1/sandbox/{id}/servers/{name}/stop': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: null;
    answer: Server;
  };
  'POST /v1/sandbox/{id}/servers/{name}/restart': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {};
    body: null;
    answer: Server;
  };
  'GET /v1/sandbox/{id}/servers/{name}/logs': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * Name of a declared server
       */
      name: string;
    };
    query: {
      /**
       * A cursor: output begins behind it. `Last-Event-ID` wins
       */
      since?: string;
      /**
       * Goes on with what comes, until the exit
       */
      follow?: 'true' | 'false';
      /**
       * Begins so many lines before the end
       */
      tail?: string;
    };
    body: null;
    answer: null;
  };
  'GET /v1/sandbox/{id}/ports': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: PortList;
  };
  'POST /v1/sandbox/{id}/ports/{port}/wait': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      port: string;
    };
    query: {};
    body: PortWait;
    answer: PortState;
  };
  'POST /v1/sandbox/{id}/stop': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: Sandbox;
  };
  'POST /v1/sandbox/{id}/resume': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: Sandbox;
  };
  'POST /v1/sandbox/{id}/heartbeat': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: Heartbeat;
  };
  'GET /v1/sandbox/{id}/events': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {
      /**
       * The same as `Last-Event-ID`, which wins
       */
      after?: string;
    };
    body: null;
    answer: null;
  };
  'GET /api/images': {
    path: {};
    query: {};
    body: null;
    answer: ImageList;
  };
  'POST /api/images': {
    path: {};
    query: {};
    body: PutImageRequest;
    answer: Image;
  };
  'DELETE /api/images/{name}': {
    path: {
      name: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /api/skills': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
    };
    body: null;
    answer: SkillList;
  };
  'GET /api/skills/{name}': {
    path: {
      name: string;
    };
    query: {};
    body: null;
    answer: SkillDetail;
  };
  'PUT /api/skills/{name}': {
    path: {
      name: string;
    };
    query: {
      /**
       * Whether it is everybody's; for admins
       */
      shared?: 'true' | 'false';
    };
    body: null;
    answer: SkillDetail;
  };
  'DELETE /api/skills/{name}': {
    path: {
      name: string;
    };
    query: {
      /**
       * Whether everybody's is meant; for admins
       */
      shared?: 'true' | 'false';
    };
    body: null;
    answer: null;
  };
  'GET /api/quota': {
    path: {};
    query: {};
    body: null;
    answer: Quota;
  };
  'POST /v1/sandbox/{id}/delegate': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: DelegateRequest;
    answer: DelegatedCredential;
  };
  'GET /v1/sandbox/{id}/delegations': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: DelegationList;
  };
  'POST /v1/sandbox/{id}/delegations/{delegation_id}/renew': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * `delegation_id`
       */
      delegation_id: string;
    };
    query: {};
    body: null;
    answer: DelegatedCredential;
  };
  'DELETE /v1/sandbox/{id}/delegations/{delegation_id}': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
      /**
       * `delegation_id`
       */
      delegation_id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /v1/sandbox/{id}/token': {
    path: {
      /**
       * Sandbox id
       */
      id: string;
    };
    query: {};
    body: null;
    answer: SandboxToken;
  };
  'POST /v1/sandbox/validate': {
    path: {};
    query: {};
    body: ValidateSandboxRequest;
    answer: SandboxValidation;
  };
  'POST /api/v1/editor/tools': {
    path: {};
    query: {};
    body: CreateToolRequest;
    answer: CreatedTool;
  };
  'GET /api/v1/editor/tools': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
    };
    body: null;
    answer: ToolList;
  };
  'GET /api/v1/editor/tools/{tool_id}': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: null;
    answer: Tool;
  };
  'PUT /api/v1/editor/tools/{tool_id}': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: RenameToolRequest;
    answer: Tool;
  };
  'DELETE /api/v1/editor/tools/{tool_id}': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /api/v1/editor/tools/{tool_id}/versions': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
    };
    body: null;
    answer: ToolVersionList;
  };
  'POST /api/v1/editor/tools/{tool_id}/versions': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: CreateToolVersionRequest;
    answer: ToolVersion;
  };
  'GET /api/v1/editor/tools/{tool_id}/draft': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: null;
    answer: ToolDraft;
  };
  'PUT /api/v1/editor/tools/{tool_id}/draft': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: SaveToolDraftRequest;
    answer: ToolDraft;
  };
  'POST /api/v1/editor/tools/{tool_id}/draft/lock': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: TakeDraftLockRequest;
    answer: TakenDraftLock;
  };
  'PUT /api/v1/editor/tools/{tool_id}/draft/lock': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: null;
    answer: DraftLock;
  };
  'DELETE /api/v1/editor/tools/{tool_id}/draft/lock': {
    path: {
      /**
       * Tool id, `tool_` + ULID
       */
      tool_id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'POST /api/v1/editor/tool-versions/{version_id}/run-sandbox': {
    path: {
      /**
       * Version id, `ver_` + ULID
       */
      version_id: string;
    };
    query: {};
    body: null;
    answer: ToolRun;
  };
  'POST /api/v1/editor/tool-runs/{run_id}/start-action': {
    path: {
      /**
       * Run id, `trun_` + ULID
       */
      run_id: string;
    };
    query: {};
    body: StartActionRequest;
    answer: ToolRun;
  };
  'GET /api/v1/editor/tool-runs/{run_id}': {
    path: {
      /**
       * Run id, `trun_` + ULID
       */
      run_id: string;
    };
    query: {};
    body: null;
    answer: ToolRun;
  };
  'GET /api/v1/editor/tool-runs': {
    path: {};
    query: {
      tool_id: string;
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
    };
    body: null;
    answer: ToolRunList;
  };
  'GET /api/archives': {
    path: {};
    query: {
      limit?: number;
      /**
       * `next` of the page before
       */
      after?: string;
      /**
       * Those of one sandbox
       */
      sandbox_id?: string;
    };
    body: null;
    answer: ArchiveList;
  };
  'DELETE /api/archives/{id}': {
    path: {
      /**
       * Of the archive
       */
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/pool/stats': {
    path: {};
    query: {};
    body: null;
    answer: PoolStats;
  };
  'POST /v1/pool/prime': {
    path: {};
    query: {};
    body: null;
    answer: OkResponse;
  };
  'POST /v1/pool/shutdown-prewarmed': {
    path: {};
    query: {};
    body: null;
    answer: OkResponse;
  };
  'GET /api/sign-in': {
    path: {};
    query: {};
    body: null;
    answer: SignInMethods;
  };
  'GET /api/session': {
    path: {};
    query: {};
    body: null;
    answer: Session;
  };
  'POST /api/session': {
    path: {};
    query: {};
    body: SignInRequest;
    answer: SignedIn;
  };
  'DELETE /api/session': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'POST /api/session/oidc': {
    path: {};
    query: {};
    body: BeginSignInRequest;
    answer: BegunSignIn;
  };
  'GET /api/session/oidc/callback': {
    path: {};
    query: {
      code?: string;
      state?: string;
      error?: string;
      iss?: string;
    };
    body: null;
    answer: null;
  };
  'GET /.well-known/oauth-protected-resource': {
    path: {};
    query: {};
    body: null;
    answer: ProtectedResourceMetadata;
  };
  'GET /.well-known/oauth-protected-resource/mcp': {
    path: {};
    query: {};
    body: null;
    answer: ProtectedResourceMetadata;
  };
  'GET /health': {
    path: {};
    query: {};
    body: null;
    answer: OkResponse;
  };
  'GET /metrics': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /runs/{id}': {
    path: {
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /sandboxes': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /sandboxes/{id}': {
    path: {
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /tools': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /tools/{id}': {
    path: {
      id: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /assets/{name}': {
    path: {
      name: string;
    };
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/openapi.json': {
    path: {};
    query: {};
    body: null;
    answer: {
      openapi: string;
      [k: string]: unknown;
    };
  };
  'GET /v1/openapi': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/openapi.html': {
    path: {};
    query: {};
    body: null;
    answer: null;
  };
  'GET /v1/openapi/assets/{name}': {
    path: {
      name: string;
    };
    query: {};
    body: null;
    answer: null;
  };
}
export interface CreateRunRequest {
  title?: string;
  /**
   * One of your sandboxes; without it a new one is made
   */
  sandbox_id?: string;
  /**
   * Name of an image of the catalogue for the new sandbox; without it the default
   */
  image?: string;
  /**
   * Previews that the agent asks for open without a person
   */
  auto_approve_tools?: boolean;
}
export interface CreatedRun {
  /**
   * `run_` + ULID
   */
  run_id: string;
  /**
   * The user who made the run
   */
  owner: string;
  title: string | null;
  sandbox_id: string;
  auto_approve_tools: boolean;
  status: 'running' | 'completed';
  created_at: string;
  completed_at: string | null;
  agent_token: string;
}
export interface RunList {
  runs: Run[];
  next: string | null;
  /**
   * How many match, with `count=true`; 10000: that many or more. Otherwise null
   */
  total: number | null;
}
export interface Run {
  /**
   * `run_` + ULID
   */
  run_id: string;
  /**
   * The user who made the run
   */
  owner: string;
  title: string | null;
  sandbox_id: string;
  auto_approve_tools: boolean;
  status: 'running' | 'completed';
  created_at: string;
  completed_at: string | null;
}
export interface RotatedAgentToken {
  run_id: string;
  agent_token: string;
  expires_at: string;
}
export interface Timeline {
  events: RunEvent[];
  next: string | null;
}
export interface RunEvent {
  /**
   * 1, 2, 3 … within the run, without a gap
   */
  id: string;
  type:
    | 'run.created'
    | 'run.completed'
    | 'agent.connected'
    | 'sandbox.created'
    | 'sandbox.stopped'
    | 'sandbox.resumed'
    | 'sandbox.destroyed'
    | 'preview.opened'
    | 'preview.kept'
    | 'preview.stopped'
    | 'preview.reaped'
    | 'preview.looked'
    | 'inbox.posted'
    | 'inbox.replied'
    | 'tool.approval_required'
    | 'tool.approved'
    | 'tool.denied'
    | 'tool.timed_out'
    | 'tool.withdrawn'
    | 'port.listening'
    | 'port.closed'
    | 'server.changed'
    | 'process.started'
    | 'process.exited';
  at: string;
  /**
   * What the type says; never a token or a URL
   */
  data: {
    [k: string]: string | number | boolean | null;
  };
}
export interface Activity {
  events: ActivityEvent[];
  next: string | null;
}
export interface ActivityEvent {
  /**
   * Unique in the run, and the same at each read: `r` or `s` and a number
   */
  id: string;
  type:
    | 'run.created'
    | 'run.completed'
    | 'agent.connected'
    | 'sandbox.created'
    | 'sandbox.stopped'
    | 'sandbox.resumed'
    | 'sandbox.destroyed'
    | 'preview.opened'
    | 'preview.kept'
    | 'preview.stopped'
    | 'preview.reaped'
    | 'preview.looked'
    | 'inbox.posted'
    | 'inbox.replied'
    | 'tool.approval_required'
    | 'tool.approved'
    | 'tool.denied'
    | 'tool.timed_out'
    | 'tool.withdrawn'
    | 'port.listening'
    | 'port.closed'
    | 'server.changed'
    | 'process.started'
    | 'process.exited'
    | 'command.exited'
    | 'file.written'
    | 'file.deleted'
    | 'network.requested';
  at: string;
  /**
   * What the type says; never a token or a URL
   */
  data: {
    [k: string]: string | number | boolean | null;
  };
  /**
   * As `after`, it gives what came since
   */
  cursor: string;
}
export interface StartPreviewRequest {
  /**
   * Port inside the sandbox
   */
  target_port?: number;
  /**
   * The same, as legacy clients spell it
   */
  targetPort?: number;
  /**
   * End the present URL of the port and open a new one
   */
  rotate?: boolean;
  /**
   * Once the app answers, wait for a check of its page at `/` in a browser: `page`
   */
  check?: boolean;
}
export interface StartedPortForwardSession {
  /**
   * The capability token; names the preview when it is stopped
   */
  session_id: string;
  /**
   * Loopback port of a legacy session, to be opened as `http://preview-{local_port}.localhost:{local_port}`; 0 for a preview with a URL
   */
  local_port: number;
  target_port: number;
  pod_name: string;
  started_at: string;
  preview_url: string | null;
  previewUrl: string | null;
  /**
   * Ping it about every 60 s while the preview is open
   */
  keepalive_url: string | null;
  keepaliveUrl: string | null;
  /**
   * When it ends unless it is kept alive
   */
  expires_at: string | null;
  /**
   * When it ends whatever happens
   */
  max_until: string | null;
  /**
   * Why it is not ready. `not_http`: the server speaks TLS or another protocol; `gateway_untrusted`: TLS from Porthole to the gateway fails; `gateway_unreachable`: the gateway accepts no connection. `server_failed`: the declared server of the port ended or was not ready in time
   */
  reason?:
    | 'nothing_listens'
    | 'not_http'
    | 'starting'
    | 'sandbox_stopped'
    | 'gateway_untrusted'
    | 'gateway_unreachable'
    | 'server_failed';
  ready: boolean;
  /**
   * With `gateway_untrusted` and `gateway_unreachable`: what is wrong, and the setting to change
   */
  problem?: string;
  /**
   * With `server_failed`: its name
   */
  server?: string;
  /**
   * With `server_failed`: what it printed last
   */
  log?: string[];
  page?: PageResult;
}
/**
 * With `check`: what a browser sees at `/`; absent if the app is not ready or no browser is installed
 */
export interface PageResult {
  /**
   * `unclear`: something failed that the app may handle, or that a look does not load
   */
  result: 'works' | 'broken' | 'unclear';
  /**
   * `works`, or the result with its likeliest cause and where it is
   */
  summary: string;
  /**
   * The most likely first
   */
  causes: PageCause[];
}
export interface PageCause {
  /**
   * `error_overlay`, `uncaught_error`, `script_failed`, `cors`, `blank` …
   */
  kind: string;
  /**
   * One sentence
   */
  message: string;
  /**
   * In the project, where source maps or traces tell
   */
  file: string | null;
  line: number | null;
  column: number | null;
}
export interface PortForwardSession {
  /**
   * The capability token; names the preview when it is stopped
   */
  session_id: string;
  /**
   * Loopback port of a legacy session, to be opened as `http://preview-{local_port}.localhost:{local_port}`; 0 for a preview with a URL
   */
  local_port: number;
  target_port: number;
  pod_name: string;
  started_at: string;
  preview_url: string | null;
  previewUrl: string | null;
  /**
   * Ping it about every 60 s while the preview is open
   */
  keepalive_url: string | null;
  keepaliveUrl: string | null;
  /**
   * When it ends unless it is kept alive
   */
  expires_at: string | null;
  /**
   * When it ends whatever happens
   */
  max_until: string | null;
  /**
   * Why it shows nothing until that changes
   */
  reason?: 'sandbox_stopped';
}
export interface KeptAlive {
  token: string;
  kept_alive: true;
  expires_at: string | null;
}
export interface StoppedSession {
  session_id: string;
  stopped: true;
}
export interface Diagnosis {
  sandbox: 'absent' | 'creating' | 'running' | 'stopped';
  /**
   * One sentence on the whole: the one to follow first
   */
  advice: string;
  /**
   * `address`: a server must listen on more than loopback, e.g. on 0.0.0.0, for its preview to show it
   */
  reached_by: 'loopback' | 'address';
  /**
   * Whether a browser is installed here, which opens pages
   */
  page_checks: boolean;
  allowed_port_min: number;
  allowed_port_max: number;
  /**
   * Null where the sandbox does not run or cannot tell
   */
  listening: Listener[] | null;
  /**
   * The port that was asked for, or those that listen
   */
  ports: PortDiagnosis[];
}
export interface Listener {
  port: number;
  /**
   * What the server is bound to, e.g. `127.0.0.1`, `0.0.0.0`, `::`
   */
  addresses: string[];
  /**
   * Who listens, where that shows
   */
  process: {
    pid: number;
    command: string;
  } | null;
}
export interface PortDiagnosis {
  port: number;
  /**
   * Whether a preview of the port shows the app; with `check`, false for a broken page
   */
  ready: boolean;
  /**
   * One sentence: the state, and what to do next
   */
  advice: string;
  listener: Listener | null;
  http: HttpFinding;
  /**
   * A guess
   */
  framework: string | null;
  /**
   * A WebSocket handshake, where the framework has its hot reload, else at `/`; null where HTTP fails
   */
  websocket: {
    upgrades: boolean;
    status: number | null;
  } | null;
  /**
   * What a browser sees at `/`, where `check` asks for it and the port has a live preview
   */
  page: PageResult1 | null;
}
export interface HttpFinding {
  /**
   * What came back on a `GET /`
   */
  answer: 'answered' | 'refused' | 'silent' | 'hung_up' | 'tls' | 'malformed';
  status: number | null;
  /**
   * Its `Server` header
   */
  server: string | null;
  content_type: string | null;
  /**
   * The page's title
   */
  title: string | null;
}
export interface PageResult1 {
  /**
   * `unclear`: something failed that the app may handle, or that a look does not load
   */
  result: 'works' | 'broken' | 'unclear';
  /**
   * `works`, or the result with its likeliest cause and where it is
   */
  summary: string;
  /**
   * The most likely first
   */
  causes: PageCause[];
}
export interface LookAtPageRequest {
  /**
   * Path and query on the preview
   */
  path?: string;
  device?: 'desktop' | 'tablet' | 'phone';
  /**
   * Instead of the size of the device
   */
  viewport?: {
    width: number;
    height: number;
  };
  /**
   * `load` waits for a short time without requests, too
   */
  wait_for?:
    | ('load' | 'network_idle')
    | {
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        text: string;
      };
  /**
   * What to do on the page first, in this order
   */
  steps?: (
    | {
        action: 'goto';
        path: string;
      }
    | {
        action: 'click' | 'hover';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        action: 'fill' | 'select';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
        value: string;
      }
    | {
        action: 'press';
        /**
         * `Enter`, `Control+A`
         */
        key: string;
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
      }
    | {
        action: 'wait';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
        text?: string;
        milliseconds?: number;
      }
  )[];
  /**
   * A picture of all of it
   */
  full_page?: boolean;
}
export interface PageLook {
  /**
   * `unclear`: something failed that the app may handle, or that a look does not load
   */
  result: 'works' | 'broken' | 'unclear';
  /**
   * `works`, or the result with its likeliest cause and where it is
   */
  summary: string;
  /**
   * The most likely first
   */
  causes: PageCause[];
  /**
   * Of the document; null where none came
   */
  status: number | null;
  /**
   * Path that is shown in the end
   */
  url: string;
  title: string | null;
  /**
   * The beginning of what can be read on the page
   */
  text: string | null;
  redirects: {
    status: number;
    url: string;
  }[];
  /**
   * Uncaught errors and unhandled rejections, with frames in the source
   */
  errors: {
    message: string;
    frames: {
      function: string;
      /**
       * In the project, where source maps or traces tell
       */
      file: string | null;
      line: number | null;
      column: number | null;
    }[];
  }[];
  /**
   * `other_origin`: a look loads the previews of the run and nothing else
   */
  failed_requests: {
    method: string;
    url: string;
    type: string;
    status: number | null;
    reason:
      | 'status'
      | 'cors'
      | 'csp'
      | 'mixed_content'
      | 'visitor_machine'
      | 'other_origin'
      | 'refused'
      | 'network';
    detail: string;
    initiator: {
      /**
       * In the project, where source maps or traces tell
       */
      file: string | null;
      line: number | null;
      column: number | null;
    } | null;
  }[];
  /**
   * The worst first
   */
  console: {
    level: 'error' | 'warning' | 'info' | 'log' | 'debug';
    text: string;
    /**
     * In the project, where source maps or traces tell
     */
    file: string | null;
    line: number | null;
    column: number | null;
  }[];
  overlays: {
    framework: string;
    message: string;
    /**
     * In the project, where source maps or traces tell
     */
    file: string | null;
    line: number | null;
    column: number | null;
  }[];
  /**
   * The WebSocket of the dev server
   */
  hot_reload: 'connected' | 'refused' | 'none';
  still_loading: string[];
  /**
   * `dialog`, `popup`, `download`: how often
   */
  blocked: {
    [k: string]: number;
  };
  /**
   * The step that failed (1, 2, 3 …; 0: `wait_for`), and elements by role and name
   */
  failed_step: {
    step: number;
    reason: string;
    nearest: string[];
  } | null;
  timings: {
    ttfb_ms: number | null;
    fcp_ms: number | null;
    lcp_ms: number | null;
    load_ms: number | null;
  };
  /**
   * Entries of lists that are not shown
   */
  left_out: {
    [k: string]: number;
  };
  /**
   * Roles and names, as a screen reader has them; null for very large pages
   */
  outline: string | null;
  screenshot: Picture | null;
  /**
   * To the last look of 24 hours at the same page in the same way; null for the first
   */
  difference: LookDifference | null;
}
export interface Picture {
  media_type: 'image/png' | 'image/jpeg';
  width: number;
  height: number;
  /**
   * Base64, at most 1 MiB before that
   */
  data: string;
}
export interface LookDifference {
  /**
   * Of the last look
   */
  since: string;
  /**
   * Nothing that a look sees has changed
   */
  is_same: boolean;
  /**
   * Null where the pictures cannot be compared: screenshots of more than 1 MiB are JPEG
   */
  pixels: {
    changed: number;
    /**
     * Of all pixels
     */
    ratio: number;
    /**
     * The largest first
     */
    areas: {
      x: number;
      y: number;
      width: number;
      height: number;
    }[];
    /**
     * The page faded, with the changes in red
     */
    picture: Picture | null;
  } | null;
  outline: {
    appeared: string[];
    gone: string[];
  };
  console: {
    appeared: string[];
    gone: string[];
  };
}
export interface CheckPageRequest {
  /**
   * Path and query on the preview
   */
  path?: string;
  device?: 'desktop' | 'tablet' | 'phone';
  /**
   * Instead of the size of the device
   */
  viewport?: {
    width: number;
    height: number;
  };
  /**
   * `load` waits for a short time without requests, too
   */
  wait_for?:
    | ('load' | 'network_idle')
    | {
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        text: string;
      };
  /**
   * What to do on the page first, in this order
   */
  steps?: (
    | {
        action: 'goto';
        path: string;
      }
    | {
        action: 'click' | 'hover';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        action: 'fill' | 'select';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
        value: string;
      }
    | {
        action: 'press';
        /**
         * `Enter`, `Control+A`
         */
        key: string;
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
      }
    | {
        action: 'wait';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
        text?: string;
        milliseconds?: number;
      }
  )[];
}
export interface PageCheck {
  /**
   * `unclear`: something failed that the app may handle, or that a look does not load
   */
  result: 'works' | 'broken' | 'unclear';
  /**
   * `works`, or the result with its likeliest cause and where it is
   */
  summary: string;
  /**
   * The most likely first
   */
  causes: PageCause[];
  /**
   * Of the document; null where none came
   */
  status: number | null;
  /**
   * Path that is shown in the end
   */
  url: string;
  title: string | null;
  /**
   * The beginning of what can be read on the page
   */
  text: string | null;
  redirects: {
    status: number;
    url: string;
  }[];
  /**
   * Uncaught errors and unhandled rejections, with frames in the source
   */
  errors: {
    message: string;
    frames: {
      function: string;
      /**
       * In the project, where source maps or traces tell
       */
      file: string | null;
      line: number | null;
      column: number | null;
    }[];
  }[];
  /**
   * `other_origin`: a look loads the previews of the run and nothing else
   */
  failed_requests: {
    method: string;
    url: string;
    type: string;
    status: number | null;
    reason:
      | 'status'
      | 'cors'
      | 'csp'
      | 'mixed_content'
      | 'visitor_machine'
      | 'other_origin'
      | 'refused'
      | 'network';
    detail: string;
    initiator: {
      /**
       * In the project, where source maps or traces tell
       */
      file: string | null;
      line: number | null;
      column: number | null;
    } | null;
  }[];
  /**
   * The worst first
   */
  console: {
    level: 'error' | 'warning' | 'info' | 'log' | 'debug';
    text: string;
    /**
     * In the project, where source maps or traces tell
     */
    file: string | null;
    line: number | null;
    column: number | null;
  }[];
  overlays: {
    framework: string;
    message: string;
    /**
     * In the project, where source maps or traces tell
     */
    file: string | null;
    line: number | null;
    column: number | null;
  }[];
  /**
   * The WebSocket of the dev server
   */
  hot_reload: 'connected' | 'refused' | 'none';
  still_loading: string[];
  /**
   * `dialog`, `popup`, `download`: how often
   */
  blocked: {
    [k: string]: number;
  };
  /**
   * The step that failed (1, 2, 3 …; 0: `wait_for`), and elements by role and name
   */
  failed_step: {
    step: number;
    reason: string;
    nearest: string[];
  } | null;
  timings: {
    ttfb_ms: number | null;
    fcp_ms: number | null;
    lcp_ms: number | null;
    load_ms: number | null;
  };
  /**
   * Entries of lists that are not shown
   */
  left_out: {
    [k: string]: number;
  };
}
export interface KeptLooks {
  looks: KeptLook[];
}
export interface KeptLook {
  /**
   * `look_` + ULID; `data.look` of `preview.looked`
   */
  look_id: string;
  at: string;
  target_port: number;
  path: string;
  viewport: {
    width: number;
    height: number;
  };
  full_page: boolean;
  result: 'works' | 'broken' | 'unclear';
  summary: string;
  title: string;
  has_thumbnail: boolean;
}
export interface FindElementRequest {
  /**
   * Path and query on the preview
   */
  path?: string;
  device?: 'desktop' | 'tablet' | 'phone';
  /**
   * Instead of the size of the device
   */
  viewport?: {
    width: number;
    height: number;
  };
  /**
   * `load` waits for a short time without requests, too
   */
  wait_for?:
    | ('load' | 'network_idle')
    | {
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        text: string;
      };
  /**
   * What to do on the page first, in this order
   */
  steps?: (
    | {
        action: 'goto';
        path: string;
      }
    | {
        action: 'click' | 'hover';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
      }
    | {
        action: 'fill' | 'select';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector: string;
        value: string;
      }
    | {
        action: 'press';
        /**
         * `Enter`, `Control+A`
         */
        key: string;
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
      }
    | {
        action: 'wait';
        /**
         * CSS, `text=Sign in`, or `role=button[name="Sign in"]`
         */
        selector?: string;
        text?: string;
        milliseconds?: number;
      }
  )[];
  /**
   * In CSS pixels from the top left of the page
   */
  point: {
    x: number;
    y: number;
  };
}
export interface PageElement {
  /**
   * CSS, of this element alone when it was found
   */
  selector: string;
  /**
   * ARIA role
   */
  role: string | null;
  /**
   * Accessible name
   */
  name: string | null;
  /**
   * Of React, Vue, Svelte or Angular
   */
  component: string | null;
  /**
   * In the project, where development data tells
   */
  file: string | null;
  line: number | null;
  column: number | null;
  /**
   * Of the element and its surroundings
   */
  picture: Picture | null;
}
export interface InboxComment {
  text: string;
  /**
   * From `POST …/previews/{port}/element`
   */
  pin?: {
    port: number;
    path: string;
    /**
     * CSS, of this element alone when it was found
     */
    selector: string;
    /**
     * ARIA role
     */
    role?: string | null;
    /**
     * Accessible name
     */
    name?: string | null;
    /**
     * Of React, Vue, Svelte or Angular
     */
    component?: string | null;
    /**
     * In the project, where development data tells
     */
    file?: string | null;
    line?: number | null;
    column?: number | null;
  };
  picture?: {
    media_type: 'image/png' | 'image/jpeg';
    width: number;
    height: number;
    /**
     * Base64
     */
    data: string;
  };
}
export interface InboxMessage {
  /**
   * `msg_` + ULID
   */
  message_id: string;
  /**
   * `message_id` of the comment; null for a comment
   */
  reply_to: string | null;
  by: 'owner' | 'admin' | 'agent';
  at: string;
  /**
   * When the other side read it
   */
  read_at: string | null;
  text: string;
  /**
   * The element that the comment is about
   */
  pin: InboxPin | null;
  has_picture: boolean;
}
export interface InboxPin {
  port: number;
  path: string;
  /**
   * CSS, of this element alone when it was found
   */
  selector: string;
  /**
   * ARIA role
   */
  role: string | null;
  /**
   * Accessible name
   */
  name: string | null;
  /**
   * Of React, Vue, Svelte or Angular
   */
  component: string | null;
  /**
   * In the project, where development data tells
   */
  file: string | null;
  line: number | null;
  column: number | null;
}
export interface Inbox {
  /**
   * The oldest first, 200 at most
   */
  messages: InboxMessage[];
}
export interface InboxMessageWithPicture {
  /**
   * `msg_` + ULID
   */
  message_id: string;
  /**
   * `message_id` of the comment; null for a comment
   */
  reply_to: string | null;
  by: 'owner' | 'admin' | 'agent';
  at: string;
  /**
   * When the other side read it
   */
  read_at: string | null;
  text: string;
  /**
   * The element that the comment is about
   */
  pin: InboxPin | null;
  has_picture: boolean;
  picture: Picture | null;
}
export interface InboxReply {
  text: string;
}
export interface InboxRead {
  messages: string[];
}
export interface ApprovalDecision {
  /**
   * From `tool.approval_required` on the timeline
   */
  request_id: string;
  decision: 'approve' | 'deny';
  /**
   * How far an approval reaches. `once`: this call. `port`: this port, for the run. `run`: any port of the run. `always`: any port of all runs of its owner. What was denied in a run is asked about again, whatever wider approval follows. A host that is denied `always` goes into the `deny` list of its sandbox
   */
  scope?: 'once' | 'port' | 'run' | 'always';
  /**
   * The agent gets to read it
   */
  reason?: string;
}
export interface DecidedApproval {
  request_id: string;
  decision: 'approve' | 'deny';
  /**
   * `request_id` of what else waited and is covered by the approval
   */
  also_approved: string[];
}
export interface WaitingApprovals {
  /**
   * The oldest first, 100 at most
   */
  approvals: WaitingApproval[];
}
export interface WaitingApproval {
  /**
   * Names it in a decision
   */
  request_id: string;
  /**
   * What people call it among each other
   */
  display_id: string;
  run_id: string;
  run_title: string | null;
  /**
   * The owner of the run
   */
  owner: string;
  tool: string;
  arguments: {
    [k: string]: string | number | boolean;
  };
  /**
   * What the agent asks
   */
  message: string;
  requested_at: string;
  /**
   * Deadline for the decision
   */
  expires_at: string;
}
export interface ApprovalPolicyList {
  policies: ApprovalPolicy[];
  next: string | null;
}
export interface ApprovalPolicy {
  /**
   * `pol_` + ULID
   */
  policy_id: string;
  /**
   * The owner of the runs that it covers
   */
  owner: string;
  tool: string;
  scope: 'port' | 'run' | 'always';
  /**
   * The one run that it covers; null: all
   */
  run_id: string | null;
  /**
   * The one port that it covers; null: any
   */
  target_port: number | null;
  created_at: string;
  /**
   * The user who approved
   */
  created_by: string;
}
export interface CreateSandboxRequest {
  /**
   * Name of an image of the catalogue, where the provider has images; without it the default
   */
  image?: string;
  /**
   * The conversation it belongs to: the same key gives the same sandbox, resumed if it is stopped
   */
  session_key?: string | null;
  /**
   * Unique among your own
   */
  name?: string | null;
  tags?: {
    [k: string]: string;
  } | null;
  /**
   * Without a heartbeat for so long it is stopped, and its files are kept; a pass each minute does it
   */
  ttl_seconds?: number | null;
  /**
   * Whether deleting sandboxes by a tag takes it, too; default false
   */
  delete_with_thread?: boolean | null;
  resources?: SandboxResourcesRequest | null;
  /**
   * Names of skills, yours or shared, that lie below /workspace/skills from the beginning, and are brought up to date at each resume
   */
  skills?: string[] | null;
  /**
   * `off`: nothing. `packages`: package registries and `allow`. `allowlist`: `allow`. `open`: everything but private networks and `deny`. `true` means `open`, `false` means `off`
   */
  network?: (('off' | 'packages' | 'allowlist' | 'open') | boolean) | null;
  /**
   * Hosts, on ports 80 and 443 unless others are named
   */
  allow?: NetworkRule[] | null;
  /**
   * Hosts, on every port unless some are named. It wins over `allow`
   */
  deny?: NetworkRule[] | null;
  /**
   * Whether the owner of its run is asked about any other host. Default: true
   */
  ask?: boolean | null;
  /**
   * Values that never enter the sandbox. The variable `name` has a placeholder there; requests to `host` over TLS get the value. Replaces the list before
   */
  secrets?: SecretRequest[] | null;
  /**
   * Id of an archive of yours, see `GET /api/archives`: a new sandbox begins with its files
   */
  from_archive?: string | null;
  /**
   * For every command and terminal in the sandbox. The values are never returned. At most 64 variables, 64 KiB together
   */
  env?: {
    [k: string]: string;
  } | null;
}
export interface SandboxResourcesRequest {
  /**
   * CPUs; may be a fraction
   */
  cpu?: number | null;
  /**
   * Memory in MiB
   */
  memory_mb?: number | null;
  /**
   * Size of /workspace in MiB
   */
  disk_mb?: number | null;
}
export interface SecretRequest {
  /**
   * The environment variable with the placeholder
   */
  name: string;
  /**
   * One host that the sandbox may reach, on port 443 or `host:port`
   */
  host: string;
  /**
   * Where the placeholder is replaced: in any header, in the query, or in the user and password of Basic authentication
   */
  inject: 'header' | 'query' | 'basic';
  /**
   * Only for these methods. Default: all
   */
  methods?: string[];
  /**
   * Visible ASCII. Never returned. May be left out for a secret that exists with the same host
   */
  value?: string;
}
export interface MadeSandbox {
  id: string;
  /**
   * Valid for the files, commands and terminals of this sandbox only. Shown once, when the sandbox is created
   */
  sandbox_token?: string;
}
export interface SandboxList {
  sandboxes: Sandbox[];
  next: string | null;
  /**
   * How many match, with `count=true`; 10000: that many or more. Otherwise null
   */
  total: number | null;
}
export interface Sandbox {
  id: string;
  /**
   * As it was seen last
   */
  state: 'creating' | 'running' | 'stopped' | 'destroyed';
  /**
   * The requested state
   */
  desired_state: 'running' | 'stopped' | 'destroyed';
  /**
   * The user who made it
   */
  owner: string;
  /**
   * null: the default
   */
  image: string | null;
  name: string | null;
  session_key: string | null;
  tags: {
    [k: string]: string;
  };
  resources: SandboxResources;
  skills: {
    name: string;
    /**
     * Of what was placed last; null: nothing yet
     */
    digest: string | null;
    /**
     * Files below /workspace/skills that are not as they were placed, and were left so
     */
    kept: string[];
  }[];
  /**
   * What it may reach
   */
  network: 'off' | 'packages' | 'allowlist' | 'open';
  allow: NetworkRule[];
  deny: NetworkRule[];
  ask: boolean;
  /**
   * Without their values
   */
  secrets: Secret[];
  created_at: string;
  /**
   * To the minute
   */
  last_active_at: string;
  stopped_at: string | null;
  ttl_seconds: number | null;
  delete_with_thread: boolean;
  /**
   * When it is stopped without another heartbeat; null: without a ttl, and while it is stopped
   */
  expires_at: string | null;
}
export interface SandboxResources {
  /**
   * CPUs
   */
  cpu: number;
  /**
   * Memory in MiB
   */
  memory_mb: number;
  /**
   * Size of /workspace in MiB
   */
  disk_mb: number;
}
export interface Secret {
  /**
   * The environment variable with the placeholder
   */
  name: string;
  /**
   * One host that the sandbox may reach, on port 443 or `host:port`
   */
  host: string;
  /**
   * Where the placeholder is replaced: in any header, in the query, or in the user and password of Basic authentication
   */
  inject: 'header' | 'query' | 'basic';
  /**
   * Only for these methods. Default: all
   */
  methods?: string[];
}
export interface DeletedSandboxes {
  ids: string[];
}
export interface SandboxDetail {
  id: string;
  /**
   * As it was seen last
   */
  state: 'creating' | 'running' | 'stopped' | 'destroyed';
  /**
   * The requested state
   */
  desired_state: 'running' | 'stopped' | 'destroyed';
  /**
   * The user who made it
   */
  owner: string;
  /**
   * null: the default
   */
  image: string | null;
  name: string | null;
  session_key: string | null;
  tags: {
    [k: string]: string;
  };
  resources: SandboxResources;
  skills: {
    name: string;
    /**
     * Of what was placed last; null: nothing yet
     */
    digest: string | null;
    /**
     * Files below /workspace/skills that are not as they were placed, and were left so
     */
    kept: string[];
  }[];
  /**
   * What it may reach
   */
  network: 'off' | 'packages' | 'allowlist' | 'open';
  allow: NetworkRule[];
  deny: NetworkRule[];
  ask: boolean;
  /**
   * Without their values
   */
  secrets: Secret[];
  created_at: string;
  /**
   * To the minute
   */
  last_active_at: string;
  stopped_at: string | null;
  ttl_seconds: number | null;
  delete_with_thread: boolean;
  /**
   * When it is stopped without another heartbeat; null: without a ttl, and while it is stopped
   */
  expires_at: string | null;
  limits: SandboxLimits;
  /**
   * Names given at creation. The values are visible only to commands in the sandbox
   */
  env_names: string[];
}
export interface SandboxLimits {
  cpu: {
    value: number;
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
  memory_mb: {
    value: number;
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
  disk_mb: {
    value: number;
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
  network: {
    value: 'off' | 'packages' | 'allowlist' | 'open';
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
  /**
   * Number of processes and threads
   */
  processes: {
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
  /**
   * Kernel interfaces open to code inside
   */
  system_calls: {
    /**
     * null: not enforced
     */
    enforced_by: string | null;
  };
}
export interface ChangeSandboxRequest {
  /**
   * `off`: nothing. `packages`: package registries and `allow`. `allowlist`: `allow`. `open`: everything but private networks and `deny`. `true` means `open`, `false` means `off`
   */
  network?: (('off' | 'packages' | 'allowlist' | 'open') | boolean) | null;
  /**
   * Hosts, on ports 80 and 443 unless others are named
   */
  allow?: NetworkRule[] | null;
  /**
   * Hosts, on every port unless some are named. It wins over `allow`
   */
  deny?: NetworkRule[] | null;
  /**
   * Whether the owner of its run is asked about any other host. Default: true
   */
  ask?: boolean | null;
  /**
   * Values that never enter the sandbox. The variable `name` has a placeholder there; requests to `host` over TLS get the value. Replaces the list before
   */
  secrets?: SecretRequest[] | null;
}
export interface NetworkPolicy {
  /**
   * What it may reach
   */
  network: 'off' | 'packages' | 'allowlist' | 'open';
  allow: NetworkRule[];
  deny: NetworkRule[];
  ask: boolean;
  /**
   * Without their values
   */
  secrets: Secret[];
}
export interface SandboxNetwork {
  /**
   * What it may reach
   */
  network: 'off' | 'packages' | 'allowlist' | 'open';
  allow: NetworkRule[];
  deny: NetworkRule[];
  ask: boolean;
  /**
   * Without their values
   */
  secrets: Secret[];
  /**
   * Newest first, as far as the sandbox’s last 1,000 events reach
   */
  attempts: NetworkAttempt[];
}
export interface NetworkAttempt {
  at: string;
  host: string;
  port: number;
  /**
   * `failed`: allowed, and the host does not answer
   */
  decision: 'allowed' | 'blocked' | 'failed';
  /**
   * What decided, or why it failed
   */
  rule: string;
  /**
   * Equal ones within a second are one
   */
  attempts: number;
  bytes_in: number;
  bytes_out: number;
  /**
   * The longest of them
   */
  ms: number;
}
export interface RunningResponse {
  running: boolean;
}
export interface ExecRequest {
  argv: string[];
  /**
   * Milliseconds; none: no limit
   */
  timeout_ms?: number | null;
  /**
   * Within /workspace, the default
   */
  cwd?: string | null;
}
export interface ExecResult {
  /**
   * 128 + n after signal n; 124 after the time limit
   */
  exit_code: number;
  /**
   * Its first MiB; bytes that are no UTF-8 are U+FFFD
   */
  stdout: string;
  /**
   * The same
   */
  stderr: string;
  timed_out: boolean;
  /**
   * One of them had more, which is dropped
   */
  truncated: boolean;
  /**
   * Hosts that the sandbox was not allowed to reach meanwhile. Absent where there are none
   */
  blocked?: BlockedHost[];
}
export interface BlockedHost {
  host: string;
  port: number;
  /**
   * What decided
   */
  rule: string;
  /**
   * How its owner can allow it
   */
  hint: string;
}
export interface WriteResponse {
  ok: true;
}
export interface DeleteFileResponse {
  ok: true;
}
export interface MoveResponse {
  /**
   * Where it is now, absolute
   */
  path: string;
}
export interface FileList {
  entries: FileEntry[];
  truncated: boolean;
}
export interface FileEntry {
  /**
   * Absolute; bytes that are no UTF-8 are U+FFFD
   */
  path: string;
  name: string;
  type: 'file' | 'directory' | 'symlink' | 'other';
  /**
   * In bytes, of a file
   */
  size: number | null;
  /**
   * null: beyond the years that RFC 3339 has
   */
  mtime: string | null;
  /**
   * Octal, with the three bits above the permissions
   */
  mode: string;
}
export interface UploadedFiles {
  files: {
    /**
     * Absolute
     */
    path: string;
    /**
     * In bytes
     */
    size: number;
  }[];
}
export interface HydrateResponse {
  ok: true;
  /**
   * Links that lead out of /workspace, to anything but programs of the image. None: no field
   */
  outside_links?: {
    total: number;
    /**
     * The first 1,000
     */
    links: {
      path: string;
      target: string;
    }[];
  };
}
export interface MountBucketRequest {
  /**
   * Bucket at `options.endpoint`; without that, a name of PORTHOLE_BUCKETS
   */
  bucket?: string;
  /**
   * A name of PORTHOLE_BUCKETS
   */
  binding?: string;
  /**
   * Absolute
   */
  mountPath: string;
  options: {
    /**
     * Origin of the S3 server
     */
    endpoint?: string;
    readOnly?: boolean;
    /**
     * Folder of the bucket, from a slash on
     */
    prefix?: string;
    credentials?: {
      accessKeyId: string;
      secretAccessKey: string;
    };
    s3fsOptions?: string[];
    /**
     * Makes no difference: credentials never are in the sandbox
     */
    credentialProxy?: boolean;
  };
}
export interface OkResponse {
  ok: true;
  warnings?: string[];
}
export interface UnmountBucketRequest {
  /**
   * Absolute
   */
  mountPath: string;
}
export interface CreateSessionRequest {
  /**
   * `[a-zA-Z0-9._-]{1,128}` without `..`; without it one is made up
   */
  id?: string | null;
  /**
   * Within /workspace, the default
   */
  cwd?: string | null;
  env?: {
    [k: string]: string;
  } | null;
}
export interface SessionId {
  id: string;
}
export interface TunnelRequest {
  /**
   * Repeated in the answer. The URL does not have it: a name can be guessed
   */
  name?: string | null;
}
export interface Tunnel {
  id: string;
  port: number;
  url: string;
  hostname: string;
  createdAt: string;
  name?: string;
}
export interface ProcessRequest {
  /**
   * Runs directly, without a shell
   */
  argv?: string[];
  /**
   * A line for the shell, instead of argv
   */
  command?: string;
  /**
   * Within /workspace, the default
   */
  cwd?: string;
  /**
   * Added to the sandbox's own variables
   */
  env?: {
    [k: string]: string;
  };
  /**
   * For people
   */
  name?: string;
  /**
   * Whether stdin is a pipe; a terminal always has one
   */
  stdin?: boolean;
  tty?: TerminalSize;
  /**
   * SIGTERM after so long, SIGKILL 4 s later; none: no limit
   */
  timeout_ms?: number;
  /**
   * How much output is kept, both streams together; 4194304 without it
   */
  output_bytes?: number;
}
export interface TerminalSize {
  cols: number;
  rows: number;
}
/**
 * A process that outlives its request. `exit.reason`: `exited`, `killed`, `timed_out`, `out_of_memory`, `sandbox_stopped`, `expired`. `output` has the cursors of the first byte that is kept and of the one behind the last.
 */
export interface Process {
  id: string;
  name: string | null;
  argv: string[];
  cwd: string;
  state: 'running' | 'exited';
  pid: number | null;
  stdin: boolean;
  tty: {
    cols: number;
    rows: number;
  } | null;
  timeout_ms: number | null;
  started_by: {
    kind: 'person' | 'agent' | 'delegate' | 'sandbox' | 'server';
    id: string | null;
  };
  started_at: string;
  exit: {
    code: number | null;
    signal: string | null;
    reason: 'exited' | 'killed' | 'timed_out' | 'out_of_memory' | 'sandbox_stopped' | 'expired';
    at: string;
    duration_ms: number;
    cpu_ms: number | null;
    peak_memory_bytes: number | null;
  } | null;
  output: {
    first: number;
    next: number;
  };
}
/**
 * Those that run and the last 100 that exited, newest first
 */
export interface ProcessList {
  processes: Process[];
}
export interface InputTaken {
  bytes: number;
}
export interface SignalRequest {
  signal?: 'SIGTERM' | 'SIGKILL' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT' | 'SIGUSR1' | 'SIGUSR2';
}
export interface ProcessWait {
  timeout_ms?: number;
}
export interface ServerRequest {
  /**
   * Runs directly, without a shell
   */
  argv?: string[];
  /**
   * A line for the shell, instead of argv
   */
  command?: string;
  /**
   * Within /workspace, the default
   */
  cwd?: string;
  /**
   * Added to the sandbox's own variables
   */
  env?: {
    [k: string]: string;
  };
  /**
   * Where it listens; it gets it as PORT
   */
  port?: number;
  /**
   * on-failure without it
   */
  restart?: 'always' | 'on-failure' | 'never';
  readiness?: Readiness;
}
/**
 * Without it: its port listens; without a port: it runs
 */
export interface Readiness {
  /**
   * A path on the port that answers below 400
   */
  http?: string;
  /**
   * A line of its output contains this
   */
  log?: string;
  /**
   * Then it is failed; 60000 without it. It keeps running, and may become ready
   */
  timeout_ms?: number;
}
/**
 * A declared server. `state`: `starting`, `ready`, `waiting` (it ended and starts again after a delay), `failed`, `exited`, `stopped`.
 */
export interface Server {
  name: string;
  argv: string[];
  cwd: string;
  port: number | null;
  restart: 'always' | 'on-failure' | 'never';
  readiness: {
    http?: string;
    log?: string;
    timeout_ms?: number;
  } | null;
  state: 'starting' | 'ready' | 'waiting' | 'failed' | 'exited' | 'stopped';
  reason: string | null;
  process_id: string | null;
  pid: number | null;
  restarts: number;
  started_by: {
    kind: 'person' | 'agent' | 'delegate' | 'sandbox' | 'server';
    id: string | null;
  };
  declared_at: string;
  started_at: string | null;
  ready_at: string | null;
  exit: {
    code: number | null;
    signal: string | null;
    reason: 'exited' | 'killed' | 'timed_out' | 'out_of_memory' | 'sandbox_stopped' | 'expired';
    at: string;
    duration_ms: number;
    cpu_ms: number | null;
    peak_memory_bytes: number | null;
  } | null;
}
/**
 * By name
 */
export interface ServerList {
  servers: Server[];
}
export interface PortList {
  ports: Port[];
}
/**
 * A port on which something listens
 */
export interface Port {
  port: number;
  address: string;
  pid: number | null;
  program: string | null;
  command: string | null;
  process_id: string | null;
  server: string | null;
  since: string;
}
export interface PortWait {
  state?: 'listening' | 'closed';
  timeout_ms?: number;
}
/**
 * Who listens; null when it is closed
 */
export interface PortState {
  port: number;
  state: 'listening' | 'closed';
  listener: Port | null;
}
export interface Heartbeat {
  /**
   * When it is stopped without another one; null: it has no ttl
   */
  expires_at: string | null;
}
export interface ImageList {
  images: ListedImage[];
}
export interface ListedImage {
  /**
   * What `image` of a new sandbox or run names
   */
  name: string;
  reference: string;
  description: string;
  languages: string[];
  /**
   * What a sandbox of it gets where its request says nothing
   */
  resources: {
    cpu?: number;
    memory_mb?: number;
    disk_mb?: number;
  };
  /**
   * Whether it comes with the installation, or was added by POST
   */
  source: 'configuration' | 'api';
}
export interface PutImageRequest {
  /**
   * Where the provider finds it; by digest, sandboxes are all made from the same
   */
  reference: string;
  description?: string;
  languages?: string[];
  /**
   * What a sandbox of it gets where its request says nothing
   */
  resources?: {
    /**
     * Cores
     */
    cpu?: number;
    /**
     * MiB
     */
    memory_mb?: number;
    /**
     * MiB
     */
    disk_mb?: number;
  };
  name: string;
}
export interface Image {
  /**
   * What `image` of a new sandbox or run names
   */
  name: string;
  reference: string;
  description: string;
  languages: string[];
  /**
   * What a sandbox of it gets where its request says nothing
   */
  resources: {
    cpu?: number;
    memory_mb?: number;
    disk_mb?: number;
  };
}
export interface SkillList {
  skills: Skill[];
  next: string | null;
}
export interface Skill {
  name: string;
  /**
   * What it does and when to use it, for the model that chooses
   */
  description: string;
  /**
   * Whether it is everybody's; else it is yours
   */
  shared: boolean;
  /**
   * SHA-256: another one for another content
   */
  digest: string;
  /**
   * All files together, in bytes
   */
  size: number;
  updated_at: string;
}
export interface SkillDetail {
  name: string;
  /**
   * What it does and when to use it, for the model that chooses
   */
  description: string;
  /**
   * Whether it is everybody's; else it is yours
   */
  shared: boolean;
  /**
   * SHA-256: another one for another content
   */
  digest: string;
  /**
   * All files together, in bytes
   */
  size: number;
  updated_at: string;
  files: {
    /**
     * Below the skill's folder
     */
    path: string;
    /**
     * Bytes
     */
    size: number;
    sha256: string;
  }[];
}
export interface Quota {
  limits: {
    /**
     * Sandboxes that run or are being made; null: any amount
     */
    sandboxes: number | null;
    /**
     * Active runs; null: any amount
     */
    runs: number | null;
    /**
     * Live previews; null: any amount
     */
    previews: number | null;
    /**
     * Their CPUs; null: any amount
     */
    cpu: number | null;
    /**
     * Their memory in MiB; null: any amount
     */
    memory_mb: number | null;
    /**
     * The disk of all your sandboxes in MiB, stopped ones included; null: any amount
     */
    disk_mb: number | null;
  };
  used: {
    /**
     * Sandboxes that run or are being made
     */
    sandboxes: number;
    /**
     * Active runs
     */
    runs: number;
    /**
     * Live previews
     */
    previews: number;
    /**
     * Their CPUs
     */
    cpu: number;
    /**
     * Their memory in MiB
     */
    memory_mb: number;
    /**
     * The disk of all your sandboxes in MiB, stopped ones included
     */
    disk_mb: number;
  };
  default_size: SandboxResources1;
  /**
   * What holds a sandbox without a network to its limits; null: nothing does
   */
  enforced_by: {
    cpu: string | null;
    memory_mb: string | null;
    disk_mb: string | null;
    network: string | null;
  };
}
/**
 * What a sandbox gets that asks for no resources
 */
export interface SandboxResources1 {
  /**
   * CPUs
   */
  cpu: number;
  /**
   * Memory in MiB
   */
  memory_mb: number;
  /**
   * Size of /workspace in MiB
   */
  disk_mb: number;
}
export interface DelegateRequest {
  scopes: ('fs:read' | 'fs:write' | 'exec')[];
  /**
   * The only names that argv[0] of a command may have, letter by letter; none: any
   */
  commands?: string[] | null;
  /**
   * The only files and folders below /workspace that can be reached; none: all. Not with exec
   */
  paths?: string[] | null;
  ttl_seconds?: number;
  renewable?: boolean;
  /**
   * Whom it is for
   */
  label?: string | null;
}
export interface DelegatedCredential {
  /**
   * Credential of the delegate. Shown only once: store it securely
   */
  token: string;
  delegation_id: string;
  expires_at: string;
}
export interface DelegationList {
  delegations: Delegation[];
}
export interface Delegation {
  delegation_id: string;
  scopes: ('fs:read' | 'fs:write' | 'exec')[];
  /**
   * null: any
   */
  commands: string[] | null;
  /**
   * null: any
   */
  paths: string[] | null;
  label: string | null;
  renewable: boolean;
  created_at: string;
  expires_at: string;
}
export interface SandboxToken {
  /**
   * Shown only once: store it securely
   */
  sandbox_token: string;
}
export interface ValidateSandboxRequest {
  sandbox_id: string;
  /**
   * What the client handed over
   */
  credential?: string;
  /**
   * An older name of `credential`
   */
  sandbox_credential?: string;
  /**
   * Your own: a sandbox of another org is none
   */
  org: string;
  /**
   * What the client handed over; another one than ours is refused
   */
  dataplane_url?: string;
}
export interface SandboxValidation {
  sandbox_id: string;
  /**
   * Whether the org has such a sandbox
   */
  exists: boolean;
  /**
   * Whether the credential is valid for the sandbox
   */
  valid: boolean;
  /**
   * Whether it may do everything, as the owner may
   */
  owner: boolean;
  scopes: ('fs:read' | 'fs:write' | 'exec')[];
  commands: string[] | null;
  paths: string[] | null;
  /**
   * null: it does not end by itself
   */
  expires_at: string | null;
}
export interface CreateToolRequest {
  name: string;
  /**
   * Name of the function that is called, or `module:function`
   */
  entrypoint?: string;
  /**
   * One module of code
   */
  source_code: string;
  language: 'python' | 'node';
  /**
   * JSON Schema (draft 2020-12) that `inputs` must fit; null: any JSON
   */
  input_schema?: {} | null;
  /**
   * JSON Schema (draft 2020-12) of the settings
   */
  settings_schema?: {} | null;
  /**
   * Shown to users who run it
   */
  usage_instructions?: string;
}
export interface CreatedTool {
  tool_id: string;
  version_id: string;
}
export interface ToolList {
  tools: Tool[];
  next: string | null;
}
export interface Tool {
  tool_id: string;
  owner: string;
  name: string;
  created_at: string;
}
export interface RenameToolRequest {
  name: string;
}
export interface ToolVersionList {
  versions: ToolVersion[];
  next: string | null;
}
export interface ToolVersion {
  version_id: string;
  tool_id: string;
  /**
   * 1 for the first
   */
  number: number;
  created_at: string;
  created_by: string;
  /**
   * Name of the function that is called, or `module:function`
   */
  entrypoint: string;
  /**
   * One module of code
   */
  source_code: string;
  language: 'python' | 'node';
  input_schema: {
    [k: string]: unknown;
  } | null;
  settings_schema: {
    [k: string]: unknown;
  } | null;
  /**
   * Shown to users who run it
   */
  usage_instructions: string;
}
export interface CreateToolVersionRequest {
  /**
   * Name of the function that is called, or `module:function`
   */
  entrypoint?: string;
  /**
   * One module of code
   */
  source_code?: string;
  language?: 'python' | 'node';
  /**
   * JSON Schema (draft 2020-12) that `inputs` must fit; null: any JSON
   */
  input_schema?: {} | null;
  /**
   * JSON Schema (draft 2020-12) of the settings
   */
  settings_schema?: {} | null;
  /**
   * Shown to users who run it
   */
  usage_instructions?: string;
}
export interface ToolDraft {
  tool_id: string;
  /**
   * The version that it was made from
   */
  version_id: string;
  /**
   * One more with each change
   */
  revision: number;
  updated_at: string;
  updated_by: string;
  lock: {
    holder: string;
    expires_at: string;
  } | null;
  /**
   * Name of the function that is called, or `module:function`
   */
  entrypoint: string;
  /**
   * One module of code
   */
  source_code: string;
  language: 'python' | 'node';
  input_schema: {
    [k: string]: unknown;
  } | null;
  settings_schema: {
    [k: string]: unknown;
  } | null;
  /**
   * Shown to users who run it
   */
  usage_instructions: string;
}
export interface SaveToolDraftRequest {
  /**
   * Name of the function that is called, or `module:function`
   */
  entrypoint?: string;
  /**
   * One module of code
   */
  source_code?: string;
  language?: 'python' | 'node';
  /**
   * JSON Schema (draft 2020-12) that `inputs` must fit; null: any JSON
   */
  input_schema?: {} | null;
  /**
   * JSON Schema (draft 2020-12) of the settings
   */
  settings_schema?: {} | null;
  /**
   * Shown to users who run it
   */
  usage_instructions?: string;
  /**
   * Begin again from this version of the tool
   */
  version_id?: string;
  /**
   * Save only on top of this revision
   */
  revision?: number;
}
export interface TakeDraftLockRequest {
  /**
   * Take over an active lock: your own if you lost its token, or any lock as an admin
   */
  take_over?: boolean;
}
export interface TakenDraftLock {
  holder: string;
  expires_at: string;
  lock_token: string;
}
export interface DraftLock {
  holder: string;
  expires_at: string;
}
export interface ToolRun {
  run_id: string;
  tool_id: string;
  version_id: string;
  /**
   * For `start-action`
   */
  snapshot_id: string;
  /**
   * Until when actions may follow
   */
  expires_at: string;
  /**
   * Null for a run that is no action
   */
  action_id: string | null;
  /**
   * The run that the action belongs to
   */
  parent_run_id: string | null;
  status: 'running' | 'succeeded' | 'failed';
  error: {
    code: string;
    message: string;
    /**
     * The tool's own frames
     */
    traceback: string | null;
  } | null;
  created_at: string;
  created_by: string;
  ended_at: string | null;
  inputs: unknown;
  outputs: unknown;
  next_actions: {
    id: string;
    [k: string]: unknown;
  }[];
  /**
   * At most the first MiB
   */
  stdout: string;
  /**
   * At most the first MiB
   */
  stderr: string;
}
export interface StartActionRequest {
  /**
   * That of the run; required
   */
  snapshot_id?: string;
  action_id: string;
  /**
   * JSON; {} without it
   */
  inputs?: {
    [k: string]: unknown;
  };
}
export interface ToolRunList {
  runs: ToolRunSummary[];
  next: string | null;
}
export interface ToolRunSummary {
  run_id: string;
  tool_id: string;
  version_id: string;
  /**
   * For `start-action`
   */
  snapshot_id: string;
  /**
   * Until when actions may follow
   */
  expires_at: string;
  /**
   * Null for a run that is no action
   */
  action_id: string | null;
  /**
   * The run that the action belongs to
   */
  parent_run_id: string | null;
  status: 'running' | 'succeeded' | 'failed';
  error: {
    code: string;
    message: string;
    /**
     * The tool's own frames
     */
    traceback: string | null;
  } | null;
  created_at: string;
  created_by: string;
  ended_at: string | null;
}
export interface ArchiveList {
  archives: Archive[];
  next: string | null;
}
export interface Archive {
  /**
   * For `from_archive` of a new sandbox
   */
  id: string;
  /**
   * The sandbox that it was
   */
  sandbox_id: string;
  /**
   * The sandbox's
   */
  name: string | null;
  /**
   * null: the default
   */
  image: string | null;
  owner: string;
  /**
   * In bytes, as a tar
   */
  size: number;
  /**
   * Entries that no archive can hold, e.g. devices
   */
  left_out: number;
  created_at: string;
}
export interface PoolStats {
  /**
   * Ready and unassigned
   */
  warm: number;
  /**
   * In use
   */
  assigned: number;
  /**
   * `warm` and `assigned` together
   */
  total: number;
  config: {
    /**
     * How many are kept ready; 0: none
     */
    warmTarget: number;
    /**
     * Milliseconds between two looks at them
     */
    refreshInterval: number;
    /**
     * Most that are to run; 0: no limit is known
     */
    maxInstances: number;
    /**
     * Most that are made at once
     */
    scaleBatchSize: number;
  };
  /**
   * Null: no limit is known
   */
  maxInstances: number | null;
}
export interface SignInMethods {
  needed: boolean;
  methods: ('key' | 'oidc')[];
}
export interface Session {
  user: string;
  org: string;
  admin: boolean;
}
export interface SignInRequest {
  key: string;
}
export interface SignedIn {
  expires_at: string;
}
export interface BeginSignInRequest {
  /**
   * The page to come back to
   */
  return_to?: string;
}
export interface BegunSignIn {
  url: string;
}
export interface ProtectedResourceMetadata {
  /**
   * URL of the MCP endpoint; tokens for it have this audience
   */
  resource: string;
  /**
   * The OpenID Connect issuer
   */
  authorization_servers: string[];
  bearer_methods_supported: string[];
  resource_name: string;
}
