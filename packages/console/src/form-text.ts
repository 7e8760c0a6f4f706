// The text of a form's field, trimmed. A field that isn't there, or holds a file, counts as empty.
// Pure.

export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
