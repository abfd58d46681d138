package server

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	nodev1 "nodal/api/gen/node/v1"
)

// Settings hold what the node was told, and what it makes of it.
type Settings struct {
	All   []Setting
	Gates []FeatureGate
}

// Setting is a field of the configuration or a flag.
type Setting struct {
	Name, Flag string
	Source     string // the file or the flag that sets it; empty for a default
	Value      []byte // as JSON, without secrets
	Instead    string // what the node does instead; empty if the value is in force
}

// FeatureGate is a gate of Kubernetes.
type FeatureGate struct {
	Name, Stage string
	Default     bool  // of Kubernetes
	Told        *bool // nil if the node was told nothing
	InForce     bool
	Means       string // what decides, if the gate does not
	Unmet       bool   // the node was told something else than what is in force
}

// GetNodeConfig returns the settings and the feature gates.
func (s *nodeService) GetNodeConfig(
	_ context.Context, request *nodev1.GetNodeConfigRequest,
) (*nodev1.GetNodeConfigResponse, error) {
	answer := &nodev1.GetNodeConfigResponse{}
	for _, one := range s.facts.Settings.All {
		if request.GetGivenOnly() && one.Source == "" {
			continue
		}
		value := &structpb.Value{}
		if err := value.UnmarshalJSON(one.Value); err != nil {
			return nil, fmt.Errorf("show setting %s: %w", one.Name, err)
		}
		answer.Settings = append(answer.Settings, &nodev1.NodeSetting{
			Name: one.Name, Flag: one.Flag, Source: one.Source, Value: value, Instead: one.Instead,
		})
	}
	for _, g := range s.facts.Settings.Gates {
		if request.GetGivenOnly() && g.Told == nil {
			continue
		}
		answer.FeatureGates = append(answer.FeatureGates, &nodev1.FeatureGate{
			Name: g.Name, Stage: g.Stage, Told: g.Told, InForce: g.InForce, Note: g.Means, WithoutEffect: g.Unmet,
		})
	}
	return answer, nil
}
