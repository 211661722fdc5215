import type { StoredRoute } from '../stored-objects.ts';

/** Whether the gateway says of the route, as it stands now, that it has accepted it and knows its Service. */
export function isRouteAccepted(route: StoredRoute, gateway: { name: string; namespace: string }): boolean {
  const { metadata, status } = route;
  const parent = status?.parents?.find(
    ({ parentRef }) =>
      parentRef?.name === gateway.name && (parentRef.namespace ?? metadata.namespace) === gateway.namespace,
  );
  const isTrue = (type: string) =>
    parent?.conditions?.some(
      (condition) =>
        condition.type === type &&
        condition.status === 'True' &&
        (condition.observedGeneration ?? metadata.generation ?? 0) >= (metadata.generation ?? 0),
    ) ?? false;
  return isTrue('Accepted') && isTrue('ResolvedRefs');
}
