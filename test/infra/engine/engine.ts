import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import type { LogRequest } from '@pulumi/pulumi/proto/engine_pb.js';
import type {
  ReadResourceRequest,
  RegisterResourceOutputsRequest,
  RegisterResourceRequest,
  SupportsFeatureRequest,
} from '@pulumi/pulumi/proto/resource_pb.js';
import { EmptyMessage, EngineService, engines, grpc, ResourceMonitorService, resources } from './protocol.ts';
import { type Registration, readRegistration } from './registration.ts';
import { decode, encode, type Properties } from './wire-values.ts';

/** The result of a registration. */
export interface Registered {
  /** Undefined for components, and if a preview cannot know it. */
  readonly id: string | undefined;
  readonly outputs: Properties;
}

export interface EngineOptions {
  readonly project: string;
  readonly stack: string;
  readonly dryRun: boolean;
  /** Creates the resource, or finds it unchanged. An error ends the program. */
  readonly register: (registration: Registration) => Promise<Registered>;
  /** Properties of a resource that the program only reads. @default the program reads none */
  readonly read?: ((type: string, id: string) => Promise<Properties>) | undefined;
}

export interface LogLine {
  readonly severity: 'debug' | 'info' | 'warning' | 'error';
  readonly message: string;
}

export interface Engine {
  /** `host:port` of both services. */
  readonly address: string;
  readonly log: readonly LogLine[];
  /** The outputs of components and of the stack, registered at their end, by URN. */
  readonly outputs: ReadonlyMap<string, Properties>;
  close(): void;
}

const SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;

/** The engine's side of the protocol, on a free port of loopback. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const log: LogLine[] = [];
  const outputs = new Map<string, Properties>();
  let root = '';
  const server = new grpc.Server();

  server.addService(EngineService, {
    log: unary((request: LogRequest) => {
      const severity = SEVERITIES[request.getSeverity()] ?? 'error';
      if (severity !== 'debug') log.push({ severity, message: request.getMessage() });
      return new EmptyMessage();
    }),
    getRootResource: unary(() => new engines.GetRootResourceResponse().setUrn(root)),
    setRootResource: unary((request: { getUrn(): string }) => {
      root = request.getUrn();
      return new engines.SetRootResourceResponse();
    }),
  });

  server.addService(ResourceMonitorService, {
    getDeploymentInfo: unary(() =>
      new resources.DeploymentInfo()
        .setProject(options.project)
        .setStack(options.stack)
        .setDryrun(options.dryRun)
        .setSupportedfeaturesList([resources.ResourceMonitorFeature.RESOURCE_MONITOR_FEATURE_SECRETS]),
    ),
    supportsFeature: unary((request: SupportsFeatureRequest) =>
      new resources.SupportsFeatureResponse().setHassupport(request.getId() === 'secrets'),
    ),
    registerResource: unary(async (request: RegisterResourceRequest) => {
      const registration = readRegistration(request, options);
      const { id, outputs } = await options.register(registration);
      return new resources.RegisterResourceResponse()
        .setUrn(registration.urn)
        .setId(id ?? '')
        .setObject(encode(outputs));
    }),
    readResource: unary(async (request: ReadResourceRequest) => {
      const [type, id] = [request.getType(), request.getId()];
      if (options.read === undefined) throw new Error(`the ${type} ${id} cannot be read`);
      const found = await options.read(type, id);
      const urn = `urn:pulumi:${options.stack}::${options.project}::${type}::${request.getName()}`;
      return new resources.ReadResourceResponse().setUrn(urn).setProperties(encode(found));
    }),
    registerResourceOutputs: unary((request: RegisterResourceOutputsRequest) => {
      outputs.set(request.getUrn(), decode(request.getOutputs()));
      return new EmptyMessage();
    }),
    signalAndWaitForShutdown: unary(() => new EmptyMessage()),
  });

  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { address: `127.0.0.1:${port}`, log, outputs, close: () => server.forceShutdown() };
}

function unary<Request, Response>(answer: (request: Request) => Response | Promise<Response>) {
  const settle = async (request: Request, callback: sendUnaryData<Response>): Promise<void> => {
    let response: Response;
    try {
      response = await answer(request);
    } catch (error) {
      callback({
        code: grpc.status.UNKNOWN,
        details: error instanceof Error ? error.message : String(error),
      });
      return;
    }
    callback(null, response);
  };
  return (call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>): void =>
    void settle(call.request, callback);
}
