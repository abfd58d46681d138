package server

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// ListGarbage lists what has no use on the machine any more, by kind: first what goes, and then what stays.
func (s *nodeService) ListGarbage(ctx context.Context, _ *nodev1.ListGarbageRequest) (*nodev1.ListGarbageResponse, error) {
	all, err := s.garbage(ctx)
	if err != nil && len(all) == 0 {
		return nil, err
	}
	answer := &nodev1.ListGarbageResponse{}
	if err != nil {
		answer.Faults = strings.Split(err.Error(), "\n") // one line a list
	}
	slices.SortStableFunc(all, func(a, b node.Garbage) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), stays(a)-stays(b), a.Key.Compare(b.Key))
	})
	for _, g := range all {
		answer.Garbage = append(answer.Garbage, garbageOf(g))
	}
	return answer, nil
}

func stays(g node.Garbage) int {
	if g.Kept != "" {
		return 1
	}
	return 0
}

func garbageOf(g node.Garbage) *nodev1.Garbage {
	shown := &nodev1.Garbage{
		Kind: string(g.Kind), Name: g.Name, Namespace: g.Key.Namespace, Pod: g.Key.Name, Container: g.Container,
		Bytes: g.Bytes, Why: g.Why, Kept: g.Kept,
	}
	if !g.Goes.IsZero() {
		shown.GoesAt = timestamppb.New(g.Goes)
	}
	return shown
}
