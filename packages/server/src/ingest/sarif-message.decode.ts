// The text of a SARIF message (SARIF 2.1.0 §3.11): its own text, or the rule's or tool's string by
// id, with arguments put in. Markdown is data: nothing is rendered here. Called by the result and
// location readers.

import { type JsonObject, listOf, memberOf, objectOf, stringOf } from './report-notes.decode.ts';
import { type RuleFacts, textOfMultiformat } from './sarif-rules.decode.ts';

/** The plain text of a message; null when it has none in any form. */
export function messageText(message: unknown, rule: RuleFacts): string | null {
  const object = objectOf(message);
  if (object === null) return stringOf(message);
  const text = stringOf(object.text) ?? stringOf(object.markdown) ?? stringById(object, rule);
  return text === null ? null : withArguments(text, listOf(object.arguments));
}

/** The markdown of a message that also has a plain text; null when there is no other form. */
export function messageMarkdown(message: unknown): string | null {
  const object = objectOf(message);
  if (object === null || stringOf(object.text) === null) return null;
  const markdown = stringOf(object.markdown);
  if (markdown === null || markdown === object.text) return null;
  return withArguments(markdown, listOf(object.arguments));
}

/**
 * §3.11.7: the rule's messageStrings, else the tool's globalMessageStrings; without either, the id
 * itself.
 */
function stringById(message: JsonObject, rule: RuleFacts): string | null {
  const id = stringOf(message.id);
  if (id === null) return null;
  const tables = [rule.raw?.messageStrings, rule.component?.globalMessageStrings];
  for (const table of tables) {
    const strings = objectOf(table);
    const text = strings === null ? null : textOfMultiformat(memberOf(strings, id));
    if (text !== null) return text;
  }
  const said = listOf(message.arguments).filter((one) => typeof one === 'string');
  return said.length === 0 ? id : `${id}: ${said.join(', ')}`;
}

/**
 * §3.11.5: `{0}` is an argument, `{{` and `}}` are braces. Only with arguments: compilers write
 * bare braces into plain texts, and `${{ github.ref }}` must stay what it is. A placeholder without
 * its argument stays as well.
 */
function withArguments(text: string, values: readonly unknown[]): string {
  if (values.length === 0 || !text.includes('{')) return text;
  return text.replace(/\{\{|\}\}|\{(\d{1,4})\}/g, (placeholder: string, index?: string) => {
    if (index === undefined) return placeholder.slice(1);
    const value = values[Number(index)];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : placeholder;
  });
}
