package agent

import (
	"context"
	"errors"
	"testing"

	"nodal/node"
)

func TestAPartThatFailsHidesNoGarbageOfOthers(t *testing.T) {
	broken := errors.New("broken")
	got, err := listGarbage(
		func(context.Context) ([]node.Garbage, error) { return []node.Garbage{{Name: "a"}}, broken },
		func(context.Context) ([]node.Garbage, error) { return []node.Garbage{{Name: "b"}}, nil },
	)(t.Context())
	if !errors.Is(err, broken) || len(got) != 2 || got[1].Name != "b" {
		t.Errorf("got %+v, %v, want both, and the failure of the first", got, err)
	}
}
