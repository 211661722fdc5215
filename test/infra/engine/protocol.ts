/** Pulumi's wire protocol between the command line and programs or policy packs. */
import { createRequire } from 'node:module';
import type * as grpcModule from '@grpc/grpc-js';
import type AnalyzerMessages from '@pulumi/pulumi/proto/analyzer_pb.js';
import type EngineMessages from '@pulumi/pulumi/proto/engine_pb.js';
import type ResourceMessages from '@pulumi/pulumi/proto/resource_pb.js';
import type { Empty } from 'google-protobuf/google/protobuf/empty_pb.js';
import type { Struct, Value } from 'google-protobuf/google/protobuf/struct_pb.js';

// The same modules that Pulumi's code loads: their message classes are compared by identity. The
// service files have no types.
const require = createRequire(createRequire(import.meta.url).resolve('@pulumi/pulumi'));

export const grpc = require('@grpc/grpc-js') as typeof grpcModule;
export const resources = require('@pulumi/pulumi/proto/resource_pb.js') as typeof ResourceMessages;
export const engines = require('@pulumi/pulumi/proto/engine_pb.js') as typeof EngineMessages;
export const analyzers = require('@pulumi/pulumi/proto/analyzer_pb.js') as typeof AnalyzerMessages;
export const { Empty: EmptyMessage } = require('google-protobuf/google/protobuf/empty_pb.js') as {
  Empty: new () => Empty;
};
export const { Struct: StructMessage } = require('google-protobuf/google/protobuf/struct_pb.js') as {
  Struct: { fromJavaScript(value: Readonly<Record<string, unknown>>): Struct };
};
export type { Struct, Value };

export const { ResourceMonitorService } = require('@pulumi/pulumi/proto/resource_grpc_pb.js') as {
  ResourceMonitorService: grpcModule.ServiceDefinition;
};
export const { EngineService } = require('@pulumi/pulumi/proto/engine_grpc_pb.js') as {
  EngineService: grpcModule.ServiceDefinition;
};
export const { AnalyzerClient } = require('@pulumi/pulumi/proto/analyzer_grpc_pb.js') as {
  AnalyzerClient: grpcModule.ServiceClientConstructor;
};
