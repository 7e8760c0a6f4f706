// Decides which runner may take which command, and says why not. Polls, claims, the doorbell and
// the answer to "why is it waiting?" go by this one set of rules (contract §4). Labels are set by
// the operator; tools and capabilities are reported by the runner (RP §4.1, both eras). A runner
// must have everything that a command asks for.

import type { WaitingReason } from '@muster/contract';

/** The requirements of a command on the runner that takes it; stored in `command.target`. */
export interface Target {
  readonly labels?: Readonly<Record<string, string>>;
  readonly tools?: readonly string[];
  readonly capabilities?: readonly string[];
  /**
   * The scanner or collector that the payload names. Judged only where a runner says which scanners
   * or collectors it has.
   */
  readonly scanner?: string;
  readonly collector?: string;
}

export interface Profile {
  readonly labels: Readonly<Record<string, string>>;
  readonly scanners: ReadonlySet<string>;
  readonly collectors: ReadonlySet<string>;
  /** Scanners and collectors by name, and installed tools. */
  readonly tools: ReadonlySet<string>;
  readonly capabilities: ReadonlySet<string>;
  /**
   * The number of commands that the runner could take now; null: the runner doesn't say, so there
   * is no limit.
   */
  readonly freeSlots: number | null;
}

type Members = Readonly<Record<string, unknown>>;

const objectOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;

/**
 * `reported`: the members of the runner's heartbeats; `held`: the number of commands it holds now.
 */
export function profileOf(
  labels: Readonly<Record<string, string>>,
  reported: Members,
  held: number,
): Profile {
  const tools = Array.isArray(reported['tools']) ? reported['tools'].map(objectOf) : [];
  const installed = tools.filter((tool) => tool['installed'] !== false);
  const scanners = texts(reported['scanners']);
  const collectors = texts(reported['collectors']);
  return {
    labels,
    scanners: new Set(scanners),
    collectors: new Set(collectors),
    tools: new Set([...scanners, ...collectors, ...texts(installed.map(({ name }) => name))]),
    capabilities: new Set([
      ...texts(reported['capabilities']),
      ...installed.flatMap((tool) => texts(tool['capabilities'])),
    ]),
    freeSlots: freeSlots(reported, held),
  };
}

/**
 * Whether the runner says how much it can do at once. Only then the number of commands it holds
 * matters.
 */
export const announcesSlots = (reported: Members): boolean => slotsTotal(reported) !== null;

const slotsTotal = (reported: Members): number | null =>
  count(objectOf(reported['capacity'])['slots_total']) ?? count(reported['max_concurrent_jobs']);

/**
 * The runner's slots, less the commands it holds, less its other work. A heartbeat is older than
 * the runner's latest claims and completions. So only the work that isn't ours is taken from the
 * heartbeat, where it can be told apart.
 */
function freeSlots(reported: Members, held: number): number | null {
  const total = slotsTotal(reported);
  if (total === null) return null;
  const free = count(objectOf(reported['capacity'])['slots_free']);
  if (free === null) return Math.max(0, total - held);
  const running = reported['running'];
  if (!Array.isArray(running)) return Math.max(0, Math.min(total - held, free));
  const besides = Math.max(0, total - free - running.length);
  return Math.max(0, total - held - besides);
}

/** The requirements that the runner lacks; empty: the runner may take the command. */
export function lacks(profile: Profile, target: Target | null): WaitingReason[] {
  if (target === null) return [];
  const reasons: WaitingReason[] = [];
  for (const [name, value] of Object.entries(target.labels ?? {})) {
    if (!Object.hasOwn(profile.labels, name) || profile.labels[name] !== value)
      reasons.push({ code: 'label_missing', detail: `It has no label ${name}=${value}.` });
  }
  for (const tool of target.tools ?? []) {
    if (!profile.tools.has(tool))
      reasons.push({ code: 'tool_missing', detail: `It reports no tool ${tool}.` });
  }
  for (const capability of target.capabilities ?? []) {
    if (!profile.capabilities.has(capability))
      reasons.push({ code: 'capability_missing', detail: `It does not report ${capability}.` });
  }
  const { scanner, collector } = target;
  if (scanner !== undefined && isWithout(scanner, profile.scanners, profile.tools))
    reasons.push({ code: 'tool_missing', detail: `It reports scanners, but not ${scanner}.` });
  if (collector !== undefined && isWithout(collector, profile.collectors, profile.tools))
    reasons.push({ code: 'tool_missing', detail: `It reports collectors, but not ${collector}.` });
  return reasons;
}

const isWithout = (name: string, said: ReadonlySet<string>, tools: ReadonlySet<string>): boolean =>
  said.size > 0 && !tools.has(name);

export const parseTarget = (text: string | null): Target | null =>
  text === null ? null : (JSON.parse(text) as Target);

/** The columns of a command that eligibility needs. */
export interface Aimed {
  readonly runner_id: string | null;
  readonly target: string | null;
}

/**
 * Whether this runner may ever take the command. A runner that may not is answered 404, as if there
 * were no such command (contract §4).
 */
export function isEligible(runnerId: string, profile: Profile, command: Aimed): boolean {
  if (command.runner_id !== null) return command.runner_id === runnerId;
  return lacks(profile, parseTarget(command.target)).length === 0;
}

/**
 * The target as it is stored: equal wishes give equal texts, whatever the order in which they were
 * written.
 */
export function targetText(target: Target): string | null {
  const labels = Object.entries(target.labels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { tools = [], capabilities = [], scanner, collector } = target;
  const wish = {
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    ...(tools.length === 0 ? {} : { tools: [...new Set(tools)].toSorted() }),
    ...(capabilities.length === 0 ? {} : { capabilities: [...new Set(capabilities)].toSorted() }),
    ...(scanner === undefined ? {} : { scanner }),
    ...(collector === undefined ? {} : { collector }),
  };
  return Object.keys(wish).length === 0 ? null : JSON.stringify(wish);
}

interface Candidate {
  readonly runnerId: string;
  readonly admin: 'active' | 'paused' | 'draining' | 'revoked';
  readonly presence: 'never' | 'online' | 'late' | 'stopped' | 'offline';
  readonly hasScope: boolean;
  readonly profile: Profile;
  /** How often this node offered the command to this runner without a claim. */
  readonly offers: number;
  /** How long this node withholds the command from this runner, because the runner gave it back. */
  readonly restMs: number;
}

/** A command that was offered this often without being claimed goes behind those that weren't. */
export const OFFERS_BEFORE_BEHIND = 3;

/**
 * Everything that keeps this runner from taking the command; empty: its next poll offers the
 * command.
 */
export function whyNot(candidate: Candidate, command: Aimed): WaitingReason[] {
  const { runnerId, admin, presence, profile, offers } = candidate;
  const reasons: WaitingReason[] = [];
  const say = (code: WaitingReason['code'], detail: string): void =>
    void reasons.push({ code, detail });
  if (admin === 'revoked') say('revoked', 'It is shut out for good.');
  if (admin === 'paused') say('paused', 'It is paused and claims nothing.');
  if (admin === 'draining') say('paused', 'It is draining: it claims nothing more.');
  if (!candidate.hasScope) say('scope_missing', 'It has no live key with the scope commands.');
  if (command.runner_id !== null && command.runner_id !== runnerId)
    say('pinned_elsewhere', 'The command is for another runner.');
  else if (command.runner_id === null) reasons.push(...lacks(profile, parseTarget(command.target)));
  if (presence !== 'online' && presence !== 'late') say('offline', OFFLINE[presence]);
  if (profile.freeSlots === 0) say('no_free_slot', 'It works on as much as it can at once.');
  if (candidate.restMs > 0) {
    const seconds = Math.ceil(candidate.restMs / 1000);
    say('given_back', `It gave it back and is offered it again in ${seconds} s.`);
  }
  if (offers >= OFFERS_BEFORE_BEHIND)
    say('ignored', `It was offered ${offers} times and did not claim it.`);
  return reasons;
}

const OFFLINE = {
  never: 'It has never reported in.',
  stopped: 'It said that it stops.',
  offline: 'It has not been heard for too long.',
} as const;
