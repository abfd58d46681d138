package main

import (
	"fmt"
	"path/filepath"

	"nodal/test/agent"
)

// guide returns how to reach the node. It sets the variables that the README's commands use.
func guide(a *agent.Agent, page, dashboard string) string {
	return fmt.Sprintf(`
The node runs, and so does its example pod:

  curl %[1]s

See the node in a browser, which will warn of the node's own certificate:

  %[8]s

The link signs in once, within ten minutes; bin/kubelet ui --socket %[2]s prints another.

In another terminal, in this directory:

  export SOCKET=%[2]s ROOT=%[3]s PORT=%[4]d

Then curl on the socket, where root needs no token:

  curl --unix-socket $SOCKET http://node/v1/pods
  curl --unix-socket $SOCKET http://node/v1/namespaces/default/pods/web/timeline

curl on the TLS port:

  curl --cacert $ROOT/pki/ca.crt -H "Authorization: Bearer $(cat $ROOT/credentials/viewer.token)" https://127.0.0.1:$PORT/v1/node

grpcurl, on either:

  go tool -modfile=test/tools/go.mod grpcurl -plaintext -unix $SOCKET list
  go tool -modfile=test/tools/go.mod grpcurl -plaintext -unix $SOCKET node.v1.PodsService/ListPods

kubectl, which needs no API server:

  bin/kubelet kubeconfig --root-dir $ROOT --server https://127.0.0.1:$PORT > node.yaml
  kubectl --kubeconfig node.yaml get pods

The README and docs/API.md go on from here.

  log of the kubelet     %[5]s
  log of containerd      %[6]s
  logs of containers     %[7]s

Ctrl-C ends the kubelet, and the pod runs on; make clean-node removes everything.
`, page, a.Socket, a.Root(), a.Ports.Secure, filepath.Join(a.Dir, "agent.log"), filepath.Join(a.Root(), "runtime/containerd.log"), a.PodLogs(), dashboard)
}
