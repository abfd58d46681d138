// The audit log of one pod, watched while its page shows it: reading it makes entries of its own.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AuditEntry, WatchAuditEntriesResponse } from "../api/gen";
import { ApiError, messageOf } from "../api/request";
import { watch } from "../api/watch";
import { type Named, watchAuditOf } from "../pure/calls";

export interface Trail {
  entries: readonly AuditEntry[];
  /** known: the kept entries are there, so an empty list means that there are none. */
  known: boolean;
  problem: string;
}

const most = 500;

export function useTrail(pod: Named): Trail {
  const trail = useSignal<Trail>({ entries: [], known: false, problem: "" });
  useEffect(() => {
    trail.value = { entries: [], known: false, problem: "" };
    let entries: AuditEntry[] = [];
    let known = false;
    return watch<WatchAuditEntriesResponse>(watchAuditOf(pod).path, {
      begin() {
        entries = [];
        known = false;
      },
      message({ entry }) {
        if (entry) entries = [...entries, entry].slice(-most);
        else known = true;
        if (known) trail.value = { entries, known, problem: "" };
      },
      down(error) {
        // A node that keeps no log says so. One that is away is shown at the top of the page.
        if (error instanceof ApiError && error.http > 0) trail.value = { ...trail.value, problem: messageOf(error) };
      },
    });
  }, [pod.namespace, pod.name]);
  return trail.value;
}
