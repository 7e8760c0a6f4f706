// Types below the top of SARIF's results and runs → warnings. A place, a text, a level or a status
// of another type than the standard's can't be read, and a warning tells its place. The table has
// only members by which a finding is known or judged. Every result is checked, so a usual one costs
// a look at each member. Called by read/shape.decode.ts, show/provenance.decode.ts and
// sarif.decode.ts.

import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, objectOf, pointerToken } from '../../../json/json.decode.ts';
import { levelWord, noticeLevel } from '../../common/severity.rules.ts';

// The members of each object. `name` is a text, `name#` a number, `name:` an object with any
// members, `name[kind]` a list of objects, `name[]` a list of anything, `name(kind)` a list of
// objects or one of them, `name{kind}` a map, `name>kind` an object, `name=word` a word of WORDS.
// Numbers are sections of the standard.
const SHAPES = {
  // §3.27; read/shape.decode.ts checks the types of these members themselves.
  result: `rule>reference message>message analysisTarget>artifact_location locations[location]
    relatedLocations[location] codeFlows[code_flow] stacks[stack] suppressions[suppression] provenance>provenance
    fixes[fix] attachments[attachment] taxa[reference] webRequest>web webResponse>web`,
  // §3.14
  run: `tool>tool artifacts[artifact] logicalLocations[logical] threadFlowLocations[step] invocations(invocation)
    conversion>conversion versionControlProvenance[repository] originalUriBaseIds{artifact_location} taxonomies[component]
    policies[component] driver>component extensions[component] automationDetails>details`,
  // §3.17, §3.18
  details: 'id guid correlationGuid',
  tool: 'driver>component extensions[component]',
  // §3.19, §3.49, §3.50
  component: `name version semanticVersion guid rules[rule] notifications[rule] taxa[rule]
    globalMessageStrings{multiformat}`,
  rule: `id guid name helpUri deprecatedIds[] shortDescription>multiformat fullDescription>multiformat help>multiformat
    messageStrings{multiformat} defaultConfiguration>configuration relationships[relationship] properties:`,
  configuration: 'level=level rank#',
  relationship: 'target>reference kinds[]',
  // §3.52, §3.54
  reference: 'id guid index# toolComponent>component_reference',
  component_reference: 'name guid index#',
  // §3.20, §3.22, §3.51, §3.58
  conversion: 'invocation>invocation',
  invocation: `ruleConfigurationOverrides[override] notificationConfigurationOverrides[override]
    exitCode# exitSignalNumber# exitSignalName processStartFailureMessage
    toolExecutionNotifications(notification) toolConfigurationNotifications(notification)`,
  notification: 'level=notice descriptor>reference',
  override: 'descriptor>reference configuration>configuration',
  // §3.23, §3.24
  repository: 'repositoryUri revisionId branch mappedTo>artifact_location',
  artifact: 'location>artifact_location contents>content parentIndex#',
  // §3.28, §3.29, §3.30, §3.33
  location:
    'id# physicalLocation>physical logicalLocations[logical] message>message annotations[region]',
  physical: 'artifactLocation>artifact_location region>region contextRegion>region address:',
  region: `startLine# startColumn# endLine# endColumn# charOffset# charLength# byteOffset# byteLength#
    snippet>content message>message`,
  logical: 'name fullyQualifiedName decoratedName kind index# parentIndex#',
  // §3.3, §3.4, §3.11, §3.12
  content: 'text binary',
  artifact_location: 'uri uriBaseId index#',
  message: 'text markdown id arguments[]',
  multiformat: 'text markdown',
  // §3.35
  suppression: 'kind status=status justification guid location>location',
  // §3.36, §3.37, §3.38
  code_flow: 'message>message threadFlows[thread]',
  thread: 'id message>message locations[step]',
  step: `index# location>location kinds[] module importance nestingLevel# executionOrder#
    executionTimeUtc stack>stack taxa[reference]`,
  // §3.44, §3.45
  stack: 'message>message frames[frame]',
  frame: 'location>location module threadId# parameters[]',
  // §3.48
  provenance: `firstDetectionTimeUtc lastDetectionTimeUtc firstDetectionRunGuid lastDetectionRunGuid
    invocationIndex# conversionSources[physical]`,
  // §3.55, §3.56, §3.57, §3.21
  fix: 'description>message artifactChanges[change]',
  change: 'artifactLocation>artifact_location replacements[replacement]',
  replacement: 'deletedRegion>region insertedContent>content',
  attachment: 'description>message artifactLocation>artifact_location regions[region]',
  // §3.46, §3.47
  web: `index# protocol version target method reasonPhrase statusCode# headers: parameters: body>content`,
} as const;

type Kind = keyof typeof SHAPES;
type Type = 'text' | 'number' | 'object' | 'list' | 'some' | 'map' | 'word';

interface Member {
  /** The `typeof` of a right value, where nothing else is to be checked. */
  readonly primitive: 'string' | 'number' | null;
  readonly type: Type;
  /** The kind of the member's object, or of the objects in it. */
  readonly kind: Kind | null;
  /**
   * Gives the right spelling of a word, and null for a wrong word; null for members without words.
   */
  readonly word: ((value: string) => string | null) | null;
}

/** §3.35.3; by their words in lower case. */
const STATUSES = new Map(['accepted', 'underReview', 'rejected'].map((s) => [s.toLowerCase(), s]));

/** The status of a suppression in its right spelling; null for other words. */
export function statusWord(value: string): string | null {
  return STATUSES.get(value.trim().toLowerCase()) ?? null;
}

const WORDS: Readonly<Record<string, (value: string) => string | null>> = {
  level: levelWord,
  notice: noticeLevel,
  status: statusWord,
};

const TYPES: Readonly<Record<string, Type>> = {
  '#': 'number',
  ':': 'object',
  '>': 'object',
  '[': 'list',
  '(': 'some',
  '{': 'map',
  '=': 'word',
};

const shapes = new Map<Kind, ReadonlyMap<string, Member>>(
  Object.entries(SHAPES).map(([kind, text]) => [
    kind as Kind,
    new Map(text.split(/\s+/).map(memberOf)),
  ]),
);

function memberOf(text: string): [string, Member] {
  const [, name = '', mark = '', of = ''] = /^(\w+)(?:([#:>[({=])(\w*)[\])}]?)?$/.exec(text) ?? [];
  const type = TYPES[mark] ?? 'text';
  const word = type === 'word' ? (WORDS[of] ?? null) : null;
  const primitive = type === 'text' ? 'string' : type === 'number' ? 'number' : null;
  return [
    name,
    { primitive, type, kind: of === '' || type === 'word' ? null : (of as Kind), word },
  ];
}

/** Warns about wrong types below a result, a run, or an external part of a run, at `pointer`. */
export function checkBelow(
  kind: 'result' | 'run' | 'external',
  object: JsonObject,
  pointer: string,
  warnings: Warnings,
): void {
  // read/shape.decode.ts checks the types of the members of results and runs themselves.
  const isTop = kind !== 'external';
  checkObject(kind === 'external' ? 'run' : kind, object, isTop, { path: [], pointer, warnings });
}

// A usual message or place is recognised by the names of its members, at a third of what the table
// costs. These functions must agree with the table; everything unusual goes through it.

const isUsualText = (value: unknown): boolean => value === undefined || typeof value === 'string';
const isUsualNumber = (value: unknown): boolean => value === undefined || typeof value === 'number';

const isUsualMessage = ({ text, markdown, id, arguments: values }: JsonObject): boolean =>
  typeof text === 'string' && markdown === undefined && id === undefined && values === undefined;

function isUsualPlace(location: JsonObject): boolean {
  const { id, message, logicalLocations, annotations } = location;
  const isMore = message !== undefined || logicalLocations !== undefined;
  if (isMore || annotations !== undefined || !isUsualNumber(id)) return false;
  const physical = objectOf(location.physicalLocation);
  const artifact = objectOf(physical?.artifactLocation);
  if (physical === null || artifact === null || physical.address !== undefined) return false;
  const { uri, uriBaseId, index } = artifact;
  if (!isUsualText(uri) || !isUsualText(uriBaseId) || !isUsualNumber(index)) return false;
  return isUsualRegion(physical.region) && isUsualRegion(physical.contextRegion);
}

function isUsualRegion(value: unknown): boolean {
  if (value === undefined) return true;
  const region = objectOf(value);
  if (region === null || region.message !== undefined) return false;
  const { startLine, startColumn, endLine, endColumn, snippet } = region;
  const { charOffset, charLength, byteOffset, byteLength } = region;
  if (!isUsualNumber(startLine) || !isUsualNumber(startColumn)) return false;
  if (!isUsualNumber(endLine) || !isUsualNumber(endColumn)) return false;
  if (!isUsualNumber(charOffset) || !isUsualNumber(charLength)) return false;
  if (!isUsualNumber(byteOffset) || !isUsualNumber(byteLength)) return false;
  if (snippet === undefined) return true;
  const content = objectOf(snippet);
  return content !== null && isUsualText(content.text) && content.binary === undefined;
}

interface Check {
  /** The names below `pointer`; they become a pointer only where something is wrong. */
  readonly path: (string | number)[];
  readonly pointer: string;
  readonly warnings: Warnings;
}

function checkObject(kind: Kind, object: JsonObject, isTop: boolean, check: Check): void {
  if (kind === 'location' ? isUsualPlace(object) : kind === 'message' && isUsualMessage(object)) {
    return;
  }
  const shape = shapes.get(kind);
  for (const name in object) {
    const member = shape?.get(name);
    if (member === undefined) continue;
    const value = object[name];
    // Null says nothing, like an absent member.
    if (typeof value === member.primitive || value === null) continue;
    check.path.push(name);
    checkMember(member, value, isTop, check);
    check.path.pop();
  }
}

/** The warning about an object in place of a list that has only this object. */
export const ONE_ENTRY = 'A list is expected here; this is taken as its only entry.';

function checkMember(member: Member, value: unknown, isTop: boolean, check: Check): void {
  const { type, kind } = member;
  if (member.primitive !== null) warn(value, check);
  else if (type === 'word') {
    checkWord(member, value, check);
  } else if (type === 'list' || type === 'some') {
    const only = type === 'some' ? objectOf(value) : null;
    if (Array.isArray(value)) {
      if (kind !== null) checkList(kind, value, check);
    } else if (only !== null && kind !== null) {
      if (!isTop) check.warnings.warn(pointerOf(check), 'wrong_type', ONE_ENTRY);
      checkObject(kind, only, false, check);
    } else if (!isTop) warn(value, check);
  } else if (kind === 'message' && typeof value === 'string' && type === 'object') {
    // A bare text says all that a message must.
  } else {
    const object = objectOf(value);
    if (object === null) {
      if (!isTop) warn(value, check);
    } else if (kind === null) return;
    else if (type === 'object') checkObject(kind, object, false, check);
    else for (const name in object) checkEntry(kind, name, object[name], check);
  }
}

function checkList(kind: Kind, list: readonly unknown[], check: Check): void {
  for (let index = 0; index < list.length; index += 1) checkEntry(kind, index, list[index], check);
}

function checkEntry(kind: Kind, name: string | number, value: unknown, check: Check): void {
  if (value === null) return;
  check.path.push(name);
  const object = objectOf(value);
  if (object === null) warn(value, check);
  else checkObject(kind, object, false, check);
  check.path.pop();
}

function checkWord({ word }: Member, value: unknown, check: Check): void {
  if (typeof value !== 'string') return warn(value, check);
  const read = word?.(value) ?? null;
  if (read === value) return;
  const what = `"${value.slice(0, 64)}" is no ${check.path.at(-1)}`;
  const detail = read === null ? 'it is left out' : `it is read as ${read}`;
  check.warnings.warn(pointerOf(check), 'unknown_word', `${what}; ${detail}.`);
}

function warn(value: unknown, check: Check): void {
  const what = Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
  const name = check.path.at(-1);
  const which = typeof name === 'number' ? 'The entry' : `\`${name}\``;
  const detail = `${which} is ${what}, which it must not be; it is left out.`;
  check.warnings.warn(pointerOf(check), 'wrong_type', detail);
}

const pointerOf = ({ pointer, path }: Check): string =>
  [pointer, ...path.map((token) => pointerToken(String(token)))].join('/');
