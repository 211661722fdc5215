/**
 * `pulumi-language-nodejs ENGINE`, as Pulumi's command line starts it: its own is built with the
 * releases alone. Runs programs and policy packs by the loaders of their `@pulumi/pulumi`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { sendUnaryData, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import type { ProgramInfo, RunPluginRequest, RunRequest } from '@pulumi/pulumi/proto/language_pb.js';
import { grpc, languages, LanguageRuntimeService, plugins } from './protocol.ts';

/** Exit status of a program that has logged why it failed. */
const LOGGED = 32;

const children = new Set<ChildProcess>();
const engine = process.argv.at(-1) ?? '';

/** The folder of the `@pulumi/pulumi` that a program in this folder imports. */
function sdk(programFolder: string): string {
  return dirname(createRequire(join(programFolder, 'program.js')).resolve('@pulumi/pulumi'));
}

function start(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

async function run(request: RunRequest) {
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getPwd();
  const flags = {
    engine,
    monitor: request.getMonitorAddress(),
    organization: request.getOrganization(),
    project: request.getProject(),
    'root-directory': info?.getRootDirectory() ?? folder,
    stack: request.getStack(),
    pwd: request.getPwd(),
    parallel: String(request.getParallel()),
  };
  const options = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const isTypescript = optionsOf(info)['typescript'] !== false;
  const config = Object.fromEntries(request.getConfigMap().toArray());
  const child = start(
    [
      join(sdk(folder), 'cmd/run'),
      ...options,
      ...(request.getDryrun() ? ['--dry-run'] : []),
      info?.getEntryPoint() ?? request.getProgram(),
      ...request.getArgsList(),
    ],
    folder,
    {
      ...process.env,
      PULUMI_NODEJS_TYPESCRIPT: String(isTypescript),
      PULUMI_CONFIG: JSON.stringify(config),
      PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
    },
  );
  // The command line shows what its plugins print.
  child.stdout?.pipe(process.stdout, { end: false });
  child.stderr?.pipe(process.stderr, { end: false });
  const [code] = (await once(child, 'close')) as [number | null];
  const answer = new languages.RunResponse();
  if (code === LOGGED) return answer.setBail(true);
  return code === 0 ? answer : answer.setError(`Program exited with non-zero exit code: ${code}`);
}

async function runPlugin(
  call: ServerWritableStream<RunPluginRequest, InstanceType<typeof languages.RunPluginResponse>>,
): Promise<void> {
  const { request } = call;
  const folder = request.getInfo()?.getProgramDirectory() ?? request.getProgram();
  const loader = request.getKind() === 'analyzer' ? 'cmd/run-policy-pack' : 'cmd/run-plugin';
  const env = Object.fromEntries(
    request.getEnvList().map((each) => /^([^=]+)=(.*)$/s.exec(each)?.slice(1) ?? []),
  );
  const child = start([join(sdk(folder), loader), ...request.getArgsList(), '.'], folder, env);
  call.once('cancelled', () => child.kill());
  child.stdout?.on('data', (bytes: Buffer) => call.write(new languages.RunPluginResponse().setStdout(bytes)));
  child.stderr?.on('data', (bytes: Buffer) => call.write(new languages.RunPluginResponse().setStderr(bytes)));
  const [code] = (await once(child, 'close')) as [number | null];
  call.write(new languages.RunPluginResponse().setExitcode(code ?? 1));
  call.end();
}

function optionsOf(info: ProgramInfo | undefined): Readonly<Record<string, unknown>> {
  return info?.getOptions()?.toJavaScript() ?? {};
}

function unary<Request, Response>(answer: (request: Request) => Response | Promise<Response>) {
  return (call: ServerUnaryCall<Request, Response>, send: sendUnaryData<Response>): void => {
    void (async () => answer(call.request))().then(
      (response) => send(null, response),
      (error: Error) => send({ code: grpc.status.UNKNOWN, message: error.message }),
    );
  };
}

const server = new grpc.Server();
server.addService(LanguageRuntimeService, {
  // Plugins are on the path.
  getRequiredPackages: unary(() => new languages.GetRequiredPackagesResponse()),
  getPluginInfo: unary(() => new plugins.PluginInfo().setVersion('1.0.0')),
  about: unary(() =>
    new languages.AboutResponse().setExecutable(process.execPath).setVersion(process.version),
  ),
  getProgramDependencies: unary(() => new languages.GetProgramDependenciesResponse()),
  run: unary(run),
  runPlugin: (call: Parameters<typeof runPlugin>[0]) => {
    runPlugin(call).catch((error: Error) => call.destroy(error));
  },
});

process.on('exit', () => {
  for (const child of children) child.kill();
});
// Ends with the command line, killed or not.
process.stdin.on('end', () => process.exit()).resume();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit());

server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`${port}\n`);
});
