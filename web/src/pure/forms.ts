// The same request in the words of the clients that people have at hand.
import type { Call, Conversation } from "./calls";
import { quote } from "./shell";

/** Forms is one thing to do by the name of the program that does it; empty where that one cannot. */
export type Forms = Readonly<Record<string, string>>;

const files = { manifest: "pod.yaml", tarball: "app.tar" };
const who = `-H "Authorization: Bearer $TOKEN"`;

export function formsOf(call: Call | Conversation, origin: string): Forms {
  const file = "file" in call ? call.file : undefined;
  return { curl: "path" in call ? curlOf(call, origin) : "", grpcurl: grpcurlOf(call, file, addressOf(origin)), kubectl: call.kubectl };
}

const addressOf = (origin: string) => origin.replace(/^https?:\/\//, "");

/** curlOf puts on lines of their own what is the same everywhere, what is not, and the address. */
function curlOf({ method, path, json, file, stream }: Call, origin: string): string {
  const options = [
    stream && "--no-buffer",
    method !== "GET" && `-X ${method}`,
    file === "manifest" && `--data-binary @${files.manifest}`,
    file === "tarball" && `-T ${files.tarball}`, // piece by piece, unlike --data-binary
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
      // Each line is base64 of its own: its length divides by four.
      return `base64 -w 1000000 ${files.tarball} | jq -Rc '{chunk: .}' | ${call(" -d @")}`;
    default:
      return call(message && Object.keys(message).length ? ` -d ${quote(JSON.stringify(message))}` : "");
  }
}

interface Port {
  namespace: string;
  name: string;
  ip: string; // empty: it has none yet
  port: number;
  http: boolean;
}

/** forwardForms is how to speak to a port of a pod: a browser cannot open a connection to one. */
export function forwardForms(p: Port, origin: string): Forms {
  const host = p.ip.includes(":") ? `[${p.ip}]` : p.ip;
  const hello = p.http ? btoa(`GET / HTTP/1.0\r\nHost: ${p.name}\r\n\r\n`) : "";
  const messages = [{ start: { namespace: p.namespace, name: p.name, port: p.port } }, ...(hello ? [{ data: hello }] : [])].map((m) => JSON.stringify(m)).join(" ");
  return {
    "on the node": !p.ip ? "" : p.http ? `curl http://${host}:${p.port}/` : `nc ${p.ip} ${p.port}`,
    kubectl: `kubectl port-forward pod/${p.name} -n ${p.namespace} ${p.port}`,
    grpcurl: `echo ${quote(messages)} |\n  grpcurl -cacert ca.crt ${who} -d @ \\\n  ${addressOf(origin)} node.v1.ExecService/PortForward`,
  };
}
