/** Sets variables of this process, which the SDK of OpenTelemetry reads. Returns their reset. */
export function useVariables(variables: Readonly<Record<string, string>>): () => void {
  const before = { ...process.env };
  Object.assign(process.env, variables);
  return () => {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before);
  };
}
