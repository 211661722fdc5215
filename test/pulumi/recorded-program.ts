/**
 * Runs a program against Pulumi's mocks, as a child of `record-program.ts`, which gets every
 * request to the engine and answers it.
 */
import { createRequire } from 'node:module';
import type * as Pulumi from '@pulumi/pulumi';
import type {
  ReadResourceRequest,
  RegisterResourceOutputsRequest,
  RegisterResourceRequest,
} from '@pulumi/pulumi/proto/resource_pb.js';
import type * as Resources from '@pulumi/pulumi/proto/resource_pb.js';
import type * as Mocks from '@pulumi/pulumi/runtime/mocks.js';
import type { Answer, ProgramStart, Question } from './record-program.ts';
import { StructMessage } from './protocol.ts';

const { main, project, stack, dryRun } = JSON.parse(process.argv[2] ?? '') as ProgramStart;
// The modules that the program itself loads.
const require = createRequire(main);
const pulumi = require('@pulumi/pulumi') as typeof Pulumi;
const { MockMonitor } = require('@pulumi/pulumi/runtime/mocks.js') as typeof Mocks;
const resources = require('@pulumi/pulumi/proto/resource_pb.js') as typeof Resources;

const waiting = new Map<number, (answer: Answer) => void>();
let questions = 0;
process.on('message', ({ id, answer }: { readonly id: number; readonly answer: Answer }) => {
  waiting.get(id)?.(answer);
  waiting.delete(id);
});

function ask(question: Question): Promise<Answer> {
  const id = (questions += 1);
  process.send?.({ id, question });
  return new Promise((resolve) => waiting.set(id, resolve));
}

type Callback<Response> = (error: Error | null, response: Response | undefined) => void;

async function reply<Response>(
  callback: Callback<Response>,
  question: Question,
  make: (answer: Answer) => Response,
): Promise<void> {
  const answer = await ask(question);
  if (answer.error === undefined) callback(null, make(answer));
  else callback(new Error(answer.error), undefined);
}

/** Without the types of the parents: no two resources here have the same type and name. */
function urnOf(type: string, name: string): string {
  return `urn:pulumi:${stack}::${project}::${type}::${name}`;
}

class RecordingMonitor extends MockMonitor {
  override registerResource(request: RegisterResourceRequest, callback: Callback<unknown>): Promise<void> {
    const [type, name] = [request.getType(), request.getName()];
    const urn = urnOf(type, name);
    const registration = {
      urn,
      type,
      name,
      parent: request.getParent(),
      custom: request.getCustom(),
      inputs: request.getObject()?.toJavaScript() ?? {},
      dependencies: request.getDependenciesList(),
      provider: request.getProvider(),
      ignoreChanges: request.getIgnorechangesList(),
    };
    return reply(callback, { kind: 'register', registration }, ({ id = '', properties = {} }) => {
      this.resources.set(urn, { urn, id, state: properties });
      const object = StructMessage.fromJavaScript(properties);
      return new resources.RegisterResourceResponse().setUrn(urn).setId(id).setObject(object);
    });
  }

  override readResource(request: ReadResourceRequest, callback: Callback<unknown>): Promise<void> {
    const [type, id] = [request.getType(), request.getId()];
    const urn = urnOf(type, request.getName());
    return reply(callback, { kind: 'read', type, id }, ({ properties = {} }) => {
      const found = StructMessage.fromJavaScript(properties);
      return new resources.ReadResourceResponse().setUrn(urn).setProperties(found);
    });
  }

  override registerResourceOutputs(
    request: RegisterResourceOutputsRequest,
    callback: Callback<unknown>,
  ): void {
    const outputs = request.getOutputs()?.toJavaScript() ?? {};
    void reply(callback, { kind: 'outputs', urn: request.getUrn(), outputs }, () => ({}));
  }
}

const unused = { call: () => ({}), newResource: () => ({ id: '', state: {} }) };
await pulumi.runtime.setMocks(unused, project, stack, dryRun, 'organization');
pulumi.runtime.setMockOptions(new RecordingMonitor(unused), project, stack, dryRun, 'organization');
await pulumi.runtime.runInPulumiStack(async () => ({ ...((await import(main)) as object) }));
await pulumi.runtime.disconnect();
process.disconnect();
