// The same request for the three clients that people have at hand.

export interface Forms {
  curl: string; // empty: HTTP alone cannot do it
  grpcurl: string;
  kubectl: string; // empty: there is none
}

export interface Call {
  method?: string;
  path?: string; // none: there is no such path
  rpc: string; // service and method, without the package
  message: Record<string, unknown>;
  kubectl?: string;
  body?: string; // a file that is sent as it stands, as @name
  json?: object; // or a body that is written out
  stream?: boolean;
}

const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

export function formsOf(call: Call, origin: string): Forms {
  const address = origin.replace(/^https?:\/\//, "");
  const who = `-H "Authorization: Bearer $TOKEN"`;
  const curl = ["curl", "--cacert ca.crt", who];
  if (call.stream) curl.push("--no-buffer");
  if (call.method && call.method !== "GET") curl.push(`-X ${call.method}`);
  if (call.body) curl.push(`--data-binary ${quote(call.body)}`);
  if (call.json) curl.push(`-d ${quote(JSON.stringify(call.json))}`);
  curl.push(quote(origin + (call.path ?? "")));
  const message = Object.keys(call.message).length ? ` -d ${quote(JSON.stringify(call.message))}` : "";
  const grpcurl = call.body
    ? `jq -Rs '{manifest: .}' ${call.body.replace(/^@/, "")} |\n  grpcurl -cacert ca.crt ${who} -d @ ${address} node.v1.${call.rpc}`
    : `grpcurl -cacert ca.crt ${who}${message} \\\n  ${address} node.v1.${call.rpc}`;
  return { curl: call.path ? wrap(curl) : "", grpcurl, kubectl: call.kubectl ?? "" };
}

/** wrap puts the address on a line of its own, which is what one looks for. */
const wrap = (words: string[]) => `${words.slice(0, -1).join(" ")} \\\n  ${words.at(-1)}`;

interface Port {
  namespace: string;
  name: string;
  ip: string; // empty: it has none yet
  port: number;
  http: boolean;
}

/** forwardForms is how to speak to a port of a pod: a browser cannot open a connection to one. */
export function forwardForms(p: Port, origin: string): Record<string, string> {
  const address = origin.replace(/^https?:\/\//, "");
  const host = p.ip.includes(":") ? `[${p.ip}]` : p.ip;
  const hello = p.http ? btoa(`GET / HTTP/1.0\r\nHost: ${p.name}\r\n\r\n`) : "";
  const messages = [{ start: { namespace: p.namespace, name: p.name, port: p.port } }, ...(hello ? [{ data: hello }] : [])].map((m) => JSON.stringify(m)).join(" ");
  return {
    "on the node": !p.ip ? "" : p.http ? `curl http://${host}:${p.port}/` : `nc ${p.ip} ${p.port}`,
    kubectl: `kubectl port-forward pod/${p.name} -n ${p.namespace} ${p.port}`,
    grpcurl: `echo ${quote(messages)} |\n  grpcurl -cacert ca.crt -H "Authorization: Bearer $TOKEN" -d @ \\\n  ${address} node.v1.ExecService/PortForward`,
  };
}
