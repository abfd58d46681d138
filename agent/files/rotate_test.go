package files

import (
	"testing"

	"nodal/node"
	"nodal/node/store"
)

func TestOnlyLogsOfContainersThatRunAreRotated(t *testing.T) {
	key := node.Key{Namespace: "default", Name: "web"}
	got := open([]store.View{
		{Key: node.Key{Namespace: "default", Name: "unseen"}},
		{Key: key, Got: &node.Observed{Containers: []node.Container{
			{ID: "c1", Name: "main", UID: "uid-1", Attempt: 2, State: node.ContainerRunning},
			{ID: "c0", Name: "main", UID: "uid-1", Attempt: 1, State: node.ContainerExited},
		}}},
	})
	want := node.LogRun{Key: key, UID: "uid-1", Container: "main", Attempt: 2}
	if len(got) != 1 || got[0].LogRun != want || got[0].ContainerID != "c1" {
		t.Errorf("got %+v, want %+v of container c1", got, want)
	}
}
