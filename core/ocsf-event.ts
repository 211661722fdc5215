/** A number of OCSF with its caption. */
export type OcsfCode = readonly [number, string];

export interface OcsfClass {
  readonly category: OcsfCode;
  readonly class: OcsfCode;
}

/** What every event of OCSF (Open Cybersecurity Schema Framework) has. */
export function ocsfEvent<Metadata extends object>(
  { category, class: { 0: uid, 1: name } }: OcsfClass,
  activity: OcsfCode,
  {
    at,
    succeeded,
    metadata,
  }: { readonly at: Date; readonly succeeded: boolean; readonly metadata: Metadata },
) {
  return {
    metadata: {
      version: '1.3.0',
      product: { name: 'Porthole', vendor_name: 'Porthole' },
      ...metadata,
    },
    category_uid: category[0],
    category_name: category[1],
    class_uid: uid,
    class_name: name,
    activity_id: activity[0],
    activity_name: activity[1],
    type_uid: uid * 100 + activity[0],
    severity_id: 1,
    severity: 'Informational',
    time: at.getTime(),
    status_id: succeeded ? 1 : 2,
    status: succeeded ? 'Success' : 'Failure',
  };
}
