/**
 * Preloaded into the pack's process: this repository's TypeScript has no JavaScript interface, which Pulumi's loader would call for a pack in any language.
 * A pack installed by itself brings the TypeScript that its `package.json` names; here the loader falls back on its own.
 */
const { Module } = require('node:module');

const resolve = Module._resolveFilename;
Module._resolveFilename = function resolveFilename(request, ...rest) {
  if (request === 'typescript') {
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
  }
  return resolve.call(this, request, ...rest);
};
