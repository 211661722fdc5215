/** Pulumi's wire protocol between the command line, programs and policy packs. */
import { createRequire } from 'node:module';
import type * as grpcModule from '@grpc/grpc-js';
import type AnalyzerMessages from '@pulumi/pulumi/proto/analyzer_pb.js';
import type LanguageMessages from '@pulumi/pulumi/proto/language_pb.js';
import type PluginMessages from '@pulumi/pulumi/proto/plugin_pb.js';
import type { Struct } from 'google-protobuf/google/protobuf/struct_pb.js';

// The same modules that Pulumi's code loads: their message classes are compared by identity. The
// service files have no types.
const require = createRequire(createRequire(import.meta.url).resolve('@pulumi/pulumi'));

export const grpc = require('@grpc/grpc-js') as typeof grpcModule;
export const analyzers = require('@pulumi/pulumi/proto/analyzer_pb.js') as typeof AnalyzerMessages;
export const languages = require('@pulumi/pulumi/proto/language_pb.js') as typeof LanguageMessages;
export const plugins = require('@pulumi/pulumi/proto/plugin_pb.js') as typeof PluginMessages;
export const { Struct: StructMessage } = require('google-protobuf/google/protobuf/struct_pb.js') as {
  Struct: { fromJavaScript(value: Readonly<Record<string, unknown>>): Struct };
};
export const { AnalyzerClient } = require('@pulumi/pulumi/proto/analyzer_grpc_pb.js') as {
  AnalyzerClient: grpcModule.ServiceClientConstructor;
};
export const { LanguageRuntimeService } = require('@pulumi/pulumi/proto/language_grpc_pb.js') as {
  LanguageRuntimeService: grpcModule.ServiceDefinition;
};
