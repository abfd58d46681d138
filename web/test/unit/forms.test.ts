import { describe, expect, it } from "vitest";
import document from "../../../openapi/openapi.json?raw";
import * as calls from "../../src/pure/calls";
import { formsOf, forwardForms } from "../../src/pure/forms";
import { quote, words } from "../../src/pure/shell";
import { kinds } from "../../src/state/objects";

const origin = "https://node:10250";
const pod = { namespace: "default", name: "web", uid: "u" };

interface Operation {
  operationId: string;
  parameters?: Array<{ name: string; in: string }>;
  requestBody?: { content: Record<string, { schema?: { $ref?: string; properties?: object } }> };
}

describe("each call", () => {
  const api = JSON.parse(document) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, { properties?: object }> };
  };
  const watches = [calls.watchUsage("a"), calls.watchUsageOf(pod), calls.watchPods(), calls.watchEvents(), calls.watchEventsOf(pod)];
  const all: calls.Call[] = [
    calls.getNode("a"), calls.watchNode("a"), calls.cordonNode("a", "a new disk"), calls.cordonNode("a", ""), calls.uncordonNode("a"), calls.listCapabilities(), calls.getPod(pod), calls.getTimeline(pod), calls.getUsageHistory(pod), calls.getPodHistoryUntil(pod, "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"), calls.readTail(pod, "c", 0, 20), ...watches, ...watches.map((call) => call.once!),
    calls.restartPod(pod, ""), calls.restartPod(pod, "c"), calls.deletePod(pod, "30"),
    calls.readLogs(pod, "c", { follow: true, tailLines: 2000 }), calls.readLogs(pod, "c", { previous: true, sinceSeconds: 60 }), calls.readLogs(pod, "c", { timestamps: true, sinceTime: "2026-01-01T00:00:00Z" }), calls.runCommand(pod, "c", ["sh"]),
    calls.planManifests(), calls.applyManifests(), calls.applyManifests("7"), calls.listImages("a"), calls.listPulls(), calls.importImages(), calls.planPrune(), calls.pruneImages(), calls.removeImage("a/b:1"),
    ...kinds.flatMap((kind) => [calls.listObjects(kind), calls.getObject(kind, pod), calls.deleteObject(kind, pod), calls.watchObjectsOf(kind)]),
    calls.watchObjects(),
  ];
  it.each(all.map((call) => [`${call.method} ${call.path}`, call] as const))("%s is one of the API", (_, call) => {
    const [path, query] = call.path.split("?");
    const like = (pattern: string) => new RegExp(`^${pattern.replaceAll(/[.]/g, "\\.").replaceAll(/\{\w+\}/g, "[^/:]+")}$`).test(path!);
    const found = Object.keys(api.paths).filter(like);
    expect(found).toHaveLength(1);
    const operation = api.paths[found[0]!]![call.method.toLowerCase()]!;
    expect(operation.operationId.replace(/_1$/, "")).toBe(call.rpc.replace("/", "_")); // _1 is a method's second path
    const parameters = (operation.parameters ?? []).map((p) => p.name);
    for (const name of new URLSearchParams(query).keys()) expect(parameters).toContain(name);
    const schemas = Object.values(operation.requestBody?.content ?? {}).map(({ schema }) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)!] : schema));
    const fields = [...parameters, ...schemas.flatMap((schema) => Object.keys(schema?.properties ?? {}))];
    expect(fields).toEqual(expect.arrayContaining(Object.keys(call.message ?? {})));
  });
});

describe("a call that changes a pod", () => {
  it.each([calls.restartPod(pod, ""), calls.restartPod(pod, "c"), calls.deletePod(pod, "30")].map((call) => [call.rpc, call] as const))("says which one it means, to %s", (_, call) => {
    expect(call.message).toMatchObject({ uid: "u" });
    expect(formsOf(call, origin)["curl"]).toMatch(/uid=u\b|"uid":"u"/);
  });
});

describe("formsOf", () => {
  it("quotes for a shell", () => {
    const { curl, grpcurl } = formsOf(calls.runCommand(pod, "c", ["echo", "it's"]), origin);
    expect(curl).toBe(`curl --cacert ca.crt -H "Authorization: Bearer $TOKEN" \\\n  -X POST -d '{"command":["echo","it'\\''s"]}' \\\n  https://node:10250/v1/namespaces/default/pods/web/containers/c:run`);
    expect(grpcurl).toContain(`"command":["echo","it'\\''s"]}' \\\n  node:10250 node.v1.ExecService/Run`);
  });
  it("sends files unchanged", () => {
    expect(formsOf(calls.applyManifests(), origin)["curl"]).toContain("--data-binary @pod.yaml");
    expect(formsOf(calls.importImages(), origin)["curl"]).toContain("-T app.tar");
  });
  it("runs several commands at the same time", () => {
    const { curl, kubectl } = formsOf(["a", "b"].map((name) => calls.readLogs(pod, name, { follow: true })), origin);
    expect(curl!.split(" &\n")).toEqual([expect.stringContaining("containers/a/logs?follow=true"), expect.stringContaining("containers/b/logs?follow=true")]);
    expect(kubectl).toBe("kubectl logs web -n default -c a --follow &\nkubectl logs web -n default -c b --follow");
  });
  it("runs several changes one after the other, and leaves out what a program cannot do", () => {
    const { curl, kubectl } = formsOf([calls.restartPod(pod, ""), calls.deletePod(pod, "30")], origin);
    expect(curl).toMatch(/web:restart\ncurl [^]*-X DELETE [^]*uid=u'$/);
    expect(curl).not.toContain("&\n");
    expect(kubectl).toBe("kubectl delete pod web -n default --grace-period=30");
  });
  it("is empty where a program cannot do it", () => {
    expect(formsOf(calls.attach(pod, "c", { stdin: true, tty: true }), origin)).toMatchObject({ curl: "", kubectl: "kubectl attach -it web -n default -c c" });
    expect(formsOf(calls.restartPod(pod, ""), origin)).toMatchObject({ kubectl: "" });
  });
});

describe("on the read-only port", () => {
  const port = "http://10.0.0.7:10255";

  it("no form has a token, or wants gRPC or a watch", () => {
    expect(formsOf(calls.watchPods(), port)).toEqual({ curl: "curl http://10.0.0.7:10255/v1/pods", grpcurl: "", kubectl: "kubectl get pods --all-namespaces" });
    expect(formsOf(calls.watchEventsOf(pod), port)).toMatchObject({ curl: "curl 'http://10.0.0.7:10255/v1/events?namespace=default&name=web'", grpcurl: "" });
    expect(formsOf(calls.getPod(pod), port)).toMatchObject({ curl: "curl http://10.0.0.7:10255/v1/namespaces/default/pods/web", grpcurl: "" });
    expect(forwardForms({ namespace: "d", name: "x", ip: "10.1.0.1", port: 80, http: true }, port)).toMatchObject({ grpcurl: "", "on the node": "curl http://10.1.0.1:80/" });
  });
});

describe("forwardForms", () => {
  it("returns each program's notation", () => {
    const forms = forwardForms({ namespace: "default", name: "web", ip: "fd00::1", port: 8080, http: true }, "https://node:10250");
    expect(forms["on the node"]).toBe("curl http://[fd00::1]:8080/");
    expect(forms["kubectl"]).toBe("kubectl port-forward pod/web -n default 8080");
    expect(forms["grpcurl"]).toContain(`{"start":{"namespace":"default","name":"web","port":8080}}`);
    expect(atob(/"data":"([^"]+)"/.exec(forms["grpcurl"]!)![1]!)).toBe("GET / HTTP/1.0\r\nHost: web\r\n\r\n");
  });
  it("has no address for a pod without one", () => {
    expect(forwardForms({ namespace: "d", name: "x", ip: "", port: 5432, http: false }, "https://n")).toMatchObject({ "on the node": "" });
  });
});

describe("words", () => {
  const lines: Array<[string, string, string[]]> = [
    ["are split at blanks", "  ls  -l /", ["ls", "-l", "/"]],
    ["are kept together by quotes", `sh -c "echo 'a b'" 'c "d"'`, ["sh", "-c", "echo 'a b'", 'c "d"']],
    ["are glued from parts", `a"b c"d\\ e`, ["ab cd e"]],
    ["take escaped quotes", `"say \\"hi\\""`, ['say "hi"']],
    ["may be empty", `a ""`, ["a", ""]],
    ["are read while a quote is still open", `sh -c "ec`, ["sh", "-c", "ec"]],
  ];
  it.each(lines)("%s", (_, line, want) => expect(words(line)).toEqual(want));
  it("come back as they were quoted", () => {
    const all = ["plain", "two words", "it's", '"x"', "a\\b", "$HOME", ""];
    expect(words(all.map(quote).join(" "))).toEqual(all);
  });
});
