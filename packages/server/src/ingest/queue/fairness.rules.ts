// Whose upload is processed next: first whoever has the fewest uploads in work, then whoever has
// waited longest for a turn. Tenants are compared first, then the runners of a tenant, so that a
// flood of one tenant or one runner doesn't make the others wait for its end. Each ingest thread
// remembers its own turns; losing them changes the order once and loses no upload. Called by
// claim.ts.

import type { UploadFlow } from '../store/upload-work.queries.ts';

/** How many tenants and runners are remembered; a forgotten one gets one turn early. */
const REMEMBERED_MAX = 20_000;

/** The turns in which this thread served tenants and runners: a larger number is later. */
export class Turns {
  readonly #turns = new Map<string, number>();
  #turn = 0;

  /** 0: no turn is remembered. */
  of(id: string): number {
    return this.#turns.get(id) ?? 0;
  }

  served(flow: Pick<UploadFlow, 'tenant_id' | 'runner_id'>): void {
    this.#turn += 1;
    for (const id of [flow.tenant_id, flow.runner_id]) {
      this.#turns.delete(id);
      this.#turns.set(id, this.#turn);
    }
    for (const id of this.#turns.keys()) {
      if (this.#turns.size <= REMEMBERED_MAX) break;
      this.#turns.delete(id);
    }
  }
}

/** The flows that have an upload due, in the order in which they are asked for it. */
export function inTurn(flows: readonly UploadFlow[], turns: Turns): UploadFlow[] {
  const inWork = new Map<string, number>();
  for (const flow of flows) {
    inWork.set(flow.tenant_id, (inWork.get(flow.tenant_id) ?? 0) + flow.in_work);
  }
  const places = flows.flatMap((flow) => {
    const { tenant_id: tenant, runner_id: runner, due_since: due } = flow;
    if (due === null) return [];
    const order = [inWork.get(tenant) ?? 0, turns.of(tenant), flow.in_work, turns.of(runner), due];
    return [{ flow, order }];
  });
  places.sort((a, b) => {
    const at = a.order.findIndex((rank, index) => rank !== b.order[index]);
    return at < 0 ? 0 : (a.order[at] ?? 0) - (b.order[at] ?? 0);
  });
  return places.map(({ flow }) => flow);
}
