package command

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"nodal/agent/config"
	nodev1 "nodal/api/gen/node/v1"
	hostruntime "nodal/host/runtime"
)

// nodeWait bounds how long a node that may run has to answer.
const nodeWait = 2 * time.Second

// checkRunning returns the settings that have another value in the node that runs with these files, and wait for its restart.
// It returns none if no node answers.
func checkRunning(ctx context.Context, cfg *config.Config) []hostruntime.Finding {
	ctx, cancel := context.WithTimeout(ctx, nodeWait)
	defer cancel()
	conn, err := grpc.NewClient("unix:"+cfg.Listen.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil
	}
	defer conn.Close()
	running, err := nodev1.NewNodeServiceClient(conn).GetNodeConfig(ctx, &nodev1.GetNodeConfigRequest{})
	if err != nil {
		return nil
	}
	wanted, err := cfg.Told()
	if err != nil {
		return nil
	}
	return waiting(running.GetSettings(), wanted)
}

// waiting compares settings. Those of a command line are left out: that of the check may be another than the node's.
func waiting(running []*nodev1.NodeSetting, wanted []config.Told) (all []hostruntime.Finding) {
	want := map[string]config.Told{}
	for _, t := range wanted {
		want[t.Name] = t
	}
	for _, r := range running {
		w, known := want[r.GetName()]
		if !known || w.TakenBy != "" || w.Instead != "" || isFlag(r.GetName()) || isFlag(r.GetSource()) || isFlag(w.Source) {
			continue
		}
		var value any
		if err := json.Unmarshal(w.Value, &value); err != nil || reflect.DeepEqual(value, r.GetValue().AsInterface()) {
			continue
		}
		all = append(all, hostruntime.Finding{
			Name: w.Name, Problem: fmt.Sprintf("the running node has %s, and these files want %s", plain(r.GetValue().AsInterface()), w.Value),
			Remedy: "restart it to have the new value",
		})
	}
	return all
}

func isFlag(name string) bool { return strings.HasPrefix(name, "--") }

func plain(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
