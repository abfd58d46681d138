package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	goruntime "runtime"
	"testing"
	"time"

	"nodal/host/cri"
	"nodal/server"
)

func TestACommandThatHasEndedLeavesNothingBehind(t *testing.T) {
	client, err := cri.Dial(cri.Config{Endpoint: "unix://" + t.TempDir() + "/nobody.sock", RequestTimeout: time.Minute}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	r := &runtime{Runtime: client}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, streams := range map[string]server.ExecStreams{
		"without a terminal": {Stdout: io.Discard},
		"with a terminal":    {Stdout: io.Discard, TTY: true, Resize: make(chan server.TerminalSize)},
	} {
		if _, err := r.Exec(gone, "c", []string{"true"}, streams); err == nil {
			t.Errorf("%s: a command ran without a runtime", name)
		}
		if err := r.Attach(gone, "c", streams); err == nil {
			t.Errorf("%s: something was attached to without a runtime", name)
		}
	}
	// What this package has begun and not ended stands in the stacks.
	stacks := make([]byte, 1<<20)
	stacks = stacks[:goruntime.Stack(stacks, true)]
	if left := bytes.Count(stacks, []byte("created by nodal/cmd/kubelet.")); left > 0 {
		t.Errorf("%d goroutines wait for sizes that nobody tells", left)
	}
}
