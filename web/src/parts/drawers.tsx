// Sections of the node's page that are fetched when they are opened: their code, and then the answer of the node.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { type Call, getNodeConfig, listGarbage, listLogs, listNodeLogs, listPlugins } from "../pure/calls";
import { isAdmin, session } from "../state/session";
import { ApiButton } from "./commands";
import { lazily } from "./lazily";

const Plugins = lazily(() => import("./plugins").then((m) => m.Plugins));
const KeptLogs = lazily(() => import("./kept_logs").then((m) => m.KeptLogs));
const Garbage = lazily(() => import("./garbage").then((m) => m.GarbageList));
const Settings = lazily(() => import("./settings").then((m) => m.Settings));
const NodeLogs = lazily(() => import("./node_logs").then((m) => m.NodeLogs));

export function Drawers() {
  return (
    <>
      <Drawer title="Plugins and devices" call={listPlugins()} summary="GPUs and other devices that pods can have" of={Plugins} />
      {session.value?.live && ( // the read-only port has no logs
        <Drawer title="Logs of deleted pods" call={listLogs()} summary="What the node keeps of them, and of earlier runs" of={KeptLogs} />
      )}
      <Drawer title="Garbage" call={listGarbage()} summary="What has no use any more, and when it goes" of={Garbage} />
      <Drawer title="Settings" call={getNodeConfig()} summary="What files and flags set, and what has no effect" of={Settings} />
      {isAdmin.value && (
        <Drawer title="Logs of the machine" call={listNodeLogs()} summary="Of the agent, the runtime, the kernel and the units of systemd" of={NodeLogs} />
      )}
    </>
  );
}

function Drawer({ title, call, summary, of: Contents }: { title: string; call: Call; summary: string; of: ComponentType }) {
  const open = useSignal(false);
  return (
    <section>
      <div class="section-head">
        <h2>{title}</h2>
        <ApiButton call={call} />
      </div>
      <details class="drawer" onToggle={(e) => (open.value = e.currentTarget.open)}>
        <summary>{summary}</summary>
        {open.value && <Contents />}
      </details>
    </section>
  );
}
