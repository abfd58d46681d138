package main

import (
	"fmt"
	"path/filepath"

	"nodal/test/agent"
)

// guide returns how to reach the node, with the variables that the README uses.
func guide(a *agent.Agent, page string) string {
	return fmt.Sprintf(`
The node runs on a simulated runtime, with five example pods. See it in a browser:

  %[7]s

(once, within ten minutes; .cache/kubelet-plain ui --socket %[1]s prints another link)

In another terminal:

  export SOCKET=%[1]s ROOT=%[2]s PORT=%[3]d

  curl --unix-socket $SOCKET http://node/v1/pods
  curl --unix-socket $SOCKET http://node/v1/namespaces/default/pods/team/timeline
  curl --no-buffer --unix-socket $SOCKET http://node/v1/namespaces/default/pods/web/containers/web/logs?follow=true
  curl --no-buffer --unix-socket $SOCKET http://node/v1/pods:watch

The socket gives you all rights; on the TLS port a token does:

  curl --cacert $ROOT/pki/ca.crt -H "Authorization: Bearer $(cat $ROOT/credentials/admin.token)" https://127.0.0.1:$PORT/v1/node

Containers print a line every %[4]s. End one, and see it restarted:

  curl --unix-socket $SOCKET http://node/run/default/web/web -d 'cmd=kill 1'

test/runsim/pods.yaml shows what else a simulated container can do.

  log of the kubelet     %[5]s
  logs of containers     %[6]s

Ctrl-C ends the node and removes all of it.
`, a.Socket, a.Root(), a.Ports.Secure, talk, filepath.Join(a.Dir, "agent.log"), a.PodLogs(), page)
}
