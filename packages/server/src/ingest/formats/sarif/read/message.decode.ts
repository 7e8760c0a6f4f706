// A SARIF message (SARIF 2.1.0 §3.11) → its text: its own, or the string with its id from the rule
// or the tool, with the arguments put in. Markdown is data: it is never rendered here.

import { maskSaid } from '../../../redact/masking.rules.ts';
import {
  type JsonObject,
  listOf,
  memberOf,
  objectOf,
  stringOf,
} from '../../../json/json.decode.ts';
import { type RuleFacts, textOfMultiformat } from './rules.decode.ts';

/**
 * The plain text of a message as it may be shown; null when the message has no text in any form.
 */
export function shownMessage(message: unknown, rule: RuleFacts): string | null {
  const text = messageText(message, rule);
  return text === null ? null : maskSaid(text);
}

/** The plain text of a message, unmasked; null when the message has no text in any form. */
export function messageText(message: unknown, rule: RuleFacts): string | null {
  const object = objectOf(message);
  if (object === null) return stringOf(message);
  const text = stringOf(object.text) ?? stringOf(object.markdown);
  const values = listOf(object.arguments);
  if (text !== null) return values.length === 0 ? text : withArguments(text, values);
  return stringById(object, rule, 'text');
}

/** The markdown of a message that also has another plain text, as it may be shown; else null. */
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
 * §3.11.7: the string with the message's id. It comes from the rule's messageStrings, else from the
 * tool's globalMessageStrings, else from a translation; without any, it is the id itself. These
 * strings are templates, so `{{` is a brace even when there are no arguments.
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
 * §3.11.5: puts an argument in place of `{0}`, and a brace in place of `{{` and `}}`. A message's
 * own text is a template only if it has arguments: compilers write bare braces into plain texts,
 * and `${{ github.ref }}` must stay as it is. A placeholder without an argument stays, too, and
 * arguments aren't searched for placeholders.
 */
function withArguments(text: string, values: readonly unknown[]): string {
  if (!text.includes('{') && !text.includes('}}')) return text;
  return text.replace(/\{\{|\}\}|\{(\d{1,4})\}/g, (placeholder: string, index?: string) => {
    if (index === undefined) return placeholder.slice(1);
    const value = values[Number(index)];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : placeholder;
  });
}

/**
 * §3.11.6: `[text](1)` or `[text](address)`; a backslash makes `[`, `]` and a backslash literal.
 */
const LINK = /\[((?:\\[[\]\\]|[^[\]\\]){1,500})\]\([^()\s]{1,500}\)/g;

/** Titles are short: a link behind this many characters is cut off with the rest of the line. */
const TITLE_SCAN_CHARS_MAX = 2000;

/** The line with the texts of its links only: "depends on [a value](1)" → "depends on a value". */
export function withoutLinks(line: string): string {
  if (!line.includes('](')) return line;
  return line
    .slice(0, TITLE_SCAN_CHARS_MAX)
    .replace(LINK, (_link, text: string) => text.replaceAll(/\\([[\]\\])/g, '$1'));
}
