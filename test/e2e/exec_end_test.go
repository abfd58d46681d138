package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/test/claim"
)

// TestACommandEndsWithItsClient has clients with the same command in one container, so that no command is ended for
// another's client.
func TestACommandEndsWithItsClient(t *testing.T) {
	claim.Shows(t, "Exec", "the processes of a command end when its client goes away, and those of other clients run on")
	n := start(t)
	n.apply(shell("box", "exec sleep 1000").yaml())
	n.waitRunning("box")
	const clients = 4
	var leave []context.CancelFunc
	for i := range clients {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave = append(leave, cancel)
		stream, err := nodev1.NewExecServiceClient(n.conn).Exec(ctx)
		if err != nil {
			t.Fatal(err)
		}
		command := []string{"sh", "-c", "echo $$; sleep 4242; true"}
		first := &nodev1.ExecRequest{Input: &nodev1.ExecRequest_Start{Start: &nodev1.ExecStart{
			Namespace: "default", Name: "box", Container: "main", Command: command,
		}}}
		if err := stream.Send(first); err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Recv(); err != nil || len(m.GetStdout()) == 0 {
			t.Fatalf("client %d: got %v, %v, want that its command runs", i, m, err)
		}
	}
	var ps execution
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ps says\n%s", ps.stdout)
		}
	})
	running := func() int {
		ps = n.exec(&nodev1.ExecStart{Namespace: "default", Name: "box", Container: "main", Command: []string{"ps"}}, "")
		lines := 0
		for line := range strings.Lines(ps.stdout) {
			if strings.HasSuffix(strings.TrimSpace(line), " sleep 4242") {
				lines++
			}
		}
		return lines
	}
	if got := running(); got != clients {
		t.Fatalf("got %d commands, want %d", got, clients)
	}
	for i, cancel := range leave {
		cancel()
		want := clients - i - 1
		n.eventually(fmt.Sprintf("%d commands are left", want), func() bool { return running() == want })
	}
}
