// The rooms of the server, drawn from the imports: from the top down, with the number of files and
// the rooms that each one imports. For ARCHITECTURE.md. Called by tools/print-docs.ts.

import path from 'node:path';
import { ROOMS, roomOf, targetOf } from './tidy/rooms.ts';
import { importsOf, isSource, listFiles, readTexts } from './tidy/source.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const SERVER_SOURCE = 'packages/server/src/';

/** A line for each room, in the order in which data flows; every arrow leads down the list. */
export function drawnRooms(): string {
  const paths = listFiles(ROOT).filter((place) => place.startsWith(SERVER_SOURCE));
  const files = new Map<string, number>();
  const arrows = new Map<string, Set<string>>();
  for (const file of readTexts(ROOT, paths).filter(isSource)) {
    const room = roomOf(file.path);
    if (room === null) continue;
    files.set(room, (files.get(room) ?? 0) + 1);
    const below = arrows.get(room) ?? new Set();
    arrows.set(room, below);
    for (const entry of importsOf(file)) {
      const target = targetOf(entry, file.path);
      const other = target === null ? null : roomOf(target);
      if (other !== null && other !== room) below.add(other);
    }
  }
  const width = Math.max(...ROOMS.map(([room]) => room.length));
  const lines = ROOMS.map(([room]) => {
    const below = ROOMS.map(([other]) => other).filter((other) => arrows.get(room)?.has(other));
    const head = `${room.padEnd(width)} ${String(files.get(room) ?? 0).padStart(3)}`;
    return below.length === 0 ? head : wrapped(`${head}  → `, below.map(shortName), 100);
  });
  return `\`\`\`text\n${lines.join('\n')}\n\`\`\`\n`;
}

/** Rooms of ingest are named by their last part where that is no other room's. */
function shortName(room: string): string {
  const last = room.slice(room.lastIndexOf('/') + 1);
  return room.startsWith('ingest/') && !room.startsWith('ingest/formats/') ? last : room;
}

/** Words behind a head, broken into lines that begin below the first word. */
function wrapped(head: string, words: readonly string[], columns: number): string {
  const lines = [head];
  for (const word of words) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length > columns) lines.push(`${' '.repeat(head.length)}${word} `);
    else lines[lines.length - 1] = `${line}${word} `;
  }
  return lines.map((line) => line.trimEnd()).join('\n');
}
