// Plugins and the devices that they or the node's configuration offer, in the words of a table.
import type { DeviceResource, ListPluginsResponse, Plugin, Share } from "../api/gen";
import { bytes } from "./time";

/** offererOf says where the devices of a resource come from. */
export function offererOf(r: DeviceResource): string {
  if (r.cdiKind) return (r.shares ?? 1) > 1 ? `CDI ${r.cdiKind}, ${r.shares} shares each` : `CDI ${r.cdiKind}`;
  return r.socket ? `plugin ${r.socket.split("/").pop()}` : "plugin";
}

/** stateOf says how a resource is: what is wrong with it, or nothing. */
export function stateOf(r: DeviceResource): string {
  if (r.message) return r.message;
  return r.connected ? "" : "its plugin is not there";
}

/** standingOf says how a plugin stands with the node. */
export function standingOf(p: Plugin): string {
  const state = p.registered ? "registered" : p.connected ? "not registered" : "not connected";
  return p.message ? `${state}: ${p.message}` : state;
}

/** summaryOf counts plugins and resources, and those that are not well. */
export function summaryOf(answer: ListPluginsResponse): string {
  const plugins = answer.plugins ?? [];
  const resources = answer.devices ?? [];
  if (plugins.length + resources.length === 0) return "none";
  const ill = resources.filter((r) => stateOf(r) !== "").length + plugins.filter((p) => !p.registered).length;
  const parts = [`${resources.length} ${resources.length === 1 ? "resource" : "resources"} of devices`];
  parts.push(`${plugins.length} ${plugins.length === 1 ? "plugin" : "plugins"} in the registry`);
  if (ill > 0) parts.push(`${ill} with a problem`);
  return parts.join(", ");
}

/** heldBy says what a container has for itself alone. */
export function heldBy(share: Share): string {
  const parts = share.cpus ? [`CPUs ${share.cpus}`] : [];
  for (const m of share.memory ?? []) parts.push(`${bytes(Number(m.bytes ?? 0))} of ${m.resource} on NUMA node ${m.node ?? 0}`);
  for (const d of share.devices ?? []) parts.push(`${d.resource} ${(d.ids ?? []).join(", ")}`);
  return parts.join("; ");
}
