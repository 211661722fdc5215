import type { FailedRequest } from '#core/pages/page-browser.ts';
import type { PageRecorder, UnmappedFailure } from './page-recorder.ts';
import type { ResourceUrls } from './page-sight.ts';

/** What a failed request meant for the page, by what its elements show at the end of the visit. */
export function outcomeOf(
  failure: UnmappedFailure,
  recorder: Pick<PageRecorder, 'isRecovered' | 'failed' | 'errors'>,
  urls: ResourceUrls | undefined,
): FailedRequest['outcome'] {
  if (recorder.isRecovered(failure)) return 'recovered';
  if (urls === undefined) return 'missing';
  const shows = (found: readonly string[]) => (found.includes(failure.fullUrl) ? 'missing' : 'harmless');
  switch (failure.type) {
    case 'image':
      return shows(urls.images);
    case 'media':
      return shows(urls.media);
    case 'font':
      return shows(urls.fonts);
    case 'script':
    case 'stylesheet':
      return outcomeOfCode(failure, urls, recorder.errors.length > 0);
    case 'fetch':
    case 'xhr':
      return isPolled(failure, recorder) ? 'caught' : 'missing';
    default:
      return 'missing';
  }
}

/** The page asks again for what is not there, and no error follows. */
function isPolled(
  { fullUrl, status }: UnmappedFailure,
  { failed, errors }: Pick<PageRecorder, 'failed' | 'errors'>,
): boolean {
  const tries = failed.filter((other) => other.fullUrl === fullUrl).length;
  return status !== null && status < 500 && tries > 1 && errors.length === 0;
}

function outcomeOfCode(
  { fullUrl, type, byCode, byElement }: UnmappedFailure,
  { handled, loads }: ResourceUrls,
  hasErrors: boolean,
): FailedRequest['outcome'] {
  if (handled.includes(fullUrl)) return 'harmless';
  // An import that nothing catches is an error of the page.
  if (byCode && type === 'script') return hasErrors ? 'missing' : 'caught';
  // The element only preloads it, or has another address by now.
  return byElement && !loads.includes(fullUrl) ? 'harmless' : 'missing';
}
