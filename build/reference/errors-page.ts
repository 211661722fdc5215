import { ERROR_CATALOGUE } from '#base/errors.ts';
import { code, pageOf, tableOf } from './markdown.ts';

/** Every error code. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(([name, entry]) => [
    code(name),
    String(entry.status),
    entry.retryable ? 'yes' : '',
    'remedy' in entry ? entry.remedy : '',
  ]);
  return pageOf(
    '# Errors',
    'An error of the API is JSON: `error` (what is wrong, the value, and what to do), `code`, `retryable`, and often `remedy` (what to do next). A 5xx also has `request_id`, under which the log has the cause. Wait `Retry-After` seconds, if the answer has it, before you repeat a call.',
    tableOf(['code', 'status', 'same call may succeed later', 'general remedy'], rows),
  );
}
