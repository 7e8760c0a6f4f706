// The text of a SARIF message (SARIF 2.1.0 §3.11): its own text, or the rule's or tool's string by
// id, with arguments put in. Markdown is data: nothing is rendered here. Called by the result and
// location readers.

import { maskSaid } from '../../../redact/masking.rules.ts';
import {
  type JsonObject,
  listOf,
  memberOf,
  objectOf,
  stringOf,
} from '../../../json/json.decode.ts';
import { type RuleFacts, textOfMultiformat } from './rules.decode.ts';

/** The plain text of a message as it may be shown; null when it has none in any form. */
export function shownMessage(message: unknown, rule: RuleFacts): string | null {
  const text = messageText(message, rule);
  return text === null ? null : maskSaid(text);
}

/** The plain text of a message, credentials and all; null when it has none in any form. */
export function messageText(message: unknown, rule: RuleFacts): string | null {
  const object = objectOf(message);
  if (object === null) return stringOf(message);
  const text = stringOf(object.text) ?? stringOf(object.markdown);
  const values = listOf(object.arguments);
  if (text !== null) return values.length === 0 ? text : withArguments(text, values);
  return stringById(object, rule, 'text');
}

/** The markdown of a message that also has a plain text, as it may be shown; null when there is no other form. */
export function shownMarkdown(message: unknown, rule: RuleFacts): string | null {
  const text = messageMarkdown(message, rule);
  return text === null ? null : maskSaid(text);
}

function messageMarkdown(message: unknown, rule: RuleFacts): string | null {
  const object = objectOf(message);
  if (object === null) return null;
  const text = stringOf(object.text);
  const markdown = stringOf(object.markdown);
  if (text === null && markdown === null) return stringById(object, rule, 'markdown');
  if (text === null || markdown === null || markdown === text) return null;
  const values = listOf(object.arguments);
  return values.length === 0 ? markdown : withArguments(markdown, values);
}

/**
 * §3.11.7: the rule's messageStrings, else the tool's globalMessageStrings, else a translation's;
 * without any, the id itself. These are written to be filled in, so `{{` is a brace even where nothing is filled in.
 */
function stringById(
  message: JsonObject,
  rule: RuleFacts,
  form: 'text' | 'markdown',
): string | null {
  const id = stringOf(message.id);
  if (id === null) return null;
  const tables = [
    rule.raw?.messageStrings,
    rule.component?.globalMessageStrings,
    ...rule.translated,
  ];
  for (const table of tables) {
    const strings = objectOf(table);
    const found = strings === null ? null : objectOf(memberOf(strings, id));
    const text = textOfMultiformat(found);
    if (text === null) continue;
    if (form === 'text') return withArguments(text, listOf(message.arguments));
    const markdown = stringOf(found?.markdown);
    const isOther = markdown !== null && markdown !== text;
    return isOther ? withArguments(markdown, listOf(message.arguments)) : null;
  }
  if (form === 'markdown') return null;
  const said = listOf(message.arguments).filter((one) => typeof one === 'string');
  return said.length === 0 ? id : `${id}: ${said.join(', ')}`;
}

/**
 * §3.11.5: `{0}` is an argument, `{{` and `}}` are braces. In a message's own text only with
 * arguments: compilers write bare braces into plain texts, and `${{ github.ref }}` must stay what
 * it is. A placeholder without its argument stays as well, and what an argument says is not looked
 * at again.
 */
function withArguments(text: string, values: readonly unknown[]): string {
  if (!text.includes('{') && !text.includes('}}')) return text;
  return text.replace(/\{\{|\}\}|\{(\d{1,4})\}/g, (placeholder: string, index?: string) => {
    if (index === undefined) return placeholder.slice(1);
    const value = values[Number(index)];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : placeholder;
  });
}

/** §3.11.6: `[text](1)` or `[text](address)`; a backslash makes `[`, `]` and itself literal. */
const LINK = /\[((?:\\[[\]\\]|[^[\]\\]){1,500})\]\([^()\s]{1,500}\)/g;

/** Titles are short; a link beyond this is cut off with the rest of the line. */
const TITLE_SCAN_CHARS_MAX = 2000;

/** One line with its links' texts only: "depends on [a value](1)" → "depends on a value". */
export function withoutLinks(line: string): string {
  if (!line.includes('](')) return line;
  return line
    .slice(0, TITLE_SCAN_CHARS_MAX)
    .replace(LINK, (_link, text: string) => text.replaceAll(/\\([[\]\\])/g, '$1'));
}
