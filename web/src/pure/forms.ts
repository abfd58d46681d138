// One request as commands of common clients.
import type { Call, Conversation } from "./calls";
import { quote } from "./shell";

/** Forms holds the command of each program; empty where a program cannot do it. */
export type Forms = Readonly<Record<string, string>>;

/** methodWords turns the name of a method into words: "list pods". */
export const methodWords = (rpc = "") => rpc.replace(/.*\//, "").replace(/\B[A-Z]/g, " $&").toLowerCase();

const files = { manifest: "pod.yaml", tarball: "app.tar" };
const who = `-H "Authorization: Bearer $TOKEN"`;

/**
 * isReadOnly reports whether the page comes from the read-only port. That port has no
 * authentication, and would send a token in clear text. It has neither watches nor gRPC.
 */
const isReadOnly = (origin: string) => origin.startsWith("http:");

export function formsOf(asked: Call | Conversation | readonly Call[], origin: string): Forms {
  return "rpc" in asked ? formsOfOne(asked, origin) : joined(asked, origin);
}

function formsOfOne(asked: Call | Conversation, origin: string): Forms {
  if (!("path" in asked)) return { curl: "", grpcurl: isReadOnly(origin) ? "" : grpcurlOf(asked, undefined, addressOf(origin)), kubectl: asked.kubectl };
  if (!isReadOnly(origin)) return { curl: curlOf(asked, origin), grpcurl: grpcurlOf(asked, asked.file, addressOf(origin)), kubectl: asked.kubectl };
  const { path, kubectl } = asked.once ?? asked;
  return { curl: `curl ${quote(origin + path)}`, grpcurl: "", kubectl };
}

/** joined has streams run at the same time and other calls one after the other, as the page's calls do. */
function joined(all: readonly Call[], origin: string): Forms {
  const forms = all.map((call) => formsOfOne(call, origin));
  const between = all.every((call) => call.stream) ? " &\n" : "\n";
  return Object.fromEntries(Object.keys(forms[0] ?? {}).map((name) => [name, forms.flatMap((form) => form[name] || []).join(between)]));
}

const addressOf = (origin: string) => origin.replace(/^https?:\/\//, "");

/** curlOf writes the constant options, the others and the URL on lines of their own. */
function curlOf({ method, path, json, file, stream }: Call, origin: string): string {
  const options = [
    stream && "--no-buffer",
    method !== "GET" && `-X ${method}`,
    file === "manifest" && `--data-binary @${files.manifest}`,
    file === "tarball" && `-T ${files.tarball}`, // in pieces, unlike --data-binary
    json && `-d ${quote(JSON.stringify(json))}`,
  ];
  return [`curl --cacert ca.crt ${who}`, options.filter(Boolean).join(" "), quote(origin + path)].filter(Boolean).join(" \\\n  ");
}

function grpcurlOf({ rpc, message }: Conversation, file: Call["file"], address: string): string {
  const call = (data: string) => `grpcurl -cacert ca.crt ${who}${data} \\\n  ${address} node.v1.${rpc}`;
  switch (file) {
    case "manifest":
      return `jq -Rs '{manifest: .}' ${files.manifest} | ${call(" -d @")}`;
    case "tarball":
      // Each line is valid base64: its length divides by four.
      return `base64 -w 1000000 ${files.tarball} | jq -Rc '{chunk: .}' | ${call(" -d @")}`;
    default:
      return call(message && Object.keys(message).length ? ` -d ${quote(JSON.stringify(message))}` : "");
  }
}

interface Port {
  namespace: string;
  name: string;
  ip: string; // empty: no address yet
  port: number;
  http: boolean;
}

/** forwardForms returns ways to connect to a port of a pod, which a browser cannot do. */
export function forwardForms(p: Port, origin: string): Forms {
  const host = p.ip.includes(":") ? `[${p.ip}]` : p.ip;
  const hello = p.http ? btoa(`GET / HTTP/1.0\r\nHost: ${p.name}\r\n\r\n`) : "";
  const messages = [{ start: { namespace: p.namespace, name: p.name, port: p.port } }, ...(hello ? [{ data: hello }] : [])].map((m) => JSON.stringify(m)).join(" ");
  return {
    "on the node": !p.ip ? "" : p.http ? `curl http://${host}:${p.port}/` : `nc ${p.ip} ${p.port}`,
    kubectl: `kubectl port-forward pod/${p.name} -n ${p.namespace} ${p.port}`,
    grpcurl: isReadOnly(origin) ? "" : `echo ${quote(messages)} |\n  grpcurl -cacert ca.crt ${who} -d @ \\\n  ${addressOf(origin)} node.v1.ExecService/PortForward`,
  };
}
