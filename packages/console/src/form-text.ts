// The text of a form's field, trimmed; '' for one that isn't there. Pure.

export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
