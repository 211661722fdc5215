/** A field of a form as text, without the space around it; a file, and a field that is not there, are none. */
export function formText(form: FormData, field: string): string {
  const value = form.get(field);
  return typeof value === 'string' ? value.trim() : '';
}
