import { useAnswer } from './use-live.ts';

/** Whether this Porthole has one user, who need not sign in; undefined until it is known. */
export function useIsOnlyUser(): boolean | undefined {
  const { value: session } = useAnswer('GET /api/session');
  return session && session.user === 'local';
}
