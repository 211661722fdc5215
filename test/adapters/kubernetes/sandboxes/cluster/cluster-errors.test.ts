import { describe, expect, test } from '@jest/globals';
import { errorFromAnswer } from '#adapters/kubernetes/client/kubernetes-error.ts';
import { portError } from '#adapters/kubernetes/sandboxes/cluster-errors.ts';

const refused = (status: number, message: string) =>
  errorFromAnswer('creating pods', status, undefined, JSON.stringify({ kind: 'Status', message }));

describe('an error of the cluster', () => {
  test.each([
    ['of a full quota asks for room', 403, 'exceeded quota: previews', 'capacity_exceeded', true],
    ['of a missing right is not worth a retry', 403, 'User "x" cannot get resource', 'internal_error', false],
    ['of an uncounted quota is', 403, 'status unknown for quota: previews', 'exec_transport_error', true],
    ['of a refused object names the request', 422, 'spec.x: too large', 'invalid_request', false],
    ['of a broken server is worth a retry', 500, 'etcd leader changed', 'exec_transport_error', true],
  ])('%s', (_title, status, message, code, retryable) => {
    const error = portError('box', refused(status, message));
    expect(error).toMatchObject({ code, retryable, message: expect.stringContaining(message) });
  });
});
