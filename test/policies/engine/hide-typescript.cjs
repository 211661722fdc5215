/**
 * Preloaded into the pack's process. Pulumi's loader calls the JavaScript interface of TypeScript,
 * and this repository's has none; without one, the loader uses its own. A pack that is
 * installed alone brings the TypeScript that its `package.json` names.
 */
const { Module } = require('node:module');

const resolve = Module._resolveFilename;
Module._resolveFilename = function resolveFilename(request, ...rest) {
  if (request === 'typescript') {
    throw Object.assign(new Error(`Cannot find module '${request}'`), { code: 'MODULE_NOT_FOUND' });
  }
  return resolve.call(this, request, ...rest);
};
