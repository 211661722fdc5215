/** TypeScript as Node runs it: ESM, types stripped, our own `#…` specifiers. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testTimeout: 60_000,
  reporters: ['default', '<rootDir>/test/support/tally-reporter.js'],
  maxWorkers: 2,
};
