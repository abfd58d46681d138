package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodev1 "nodal/api/gen/node/v1"
)

// Configuration reads what the node is configured to do, which may change while it runs. The server never writes it.
type Configuration interface {
	Read() Configured
	// Changed returns a channel that is closed when another configuration is in force, or waits. Take it before Read.
	Changed() <-chan struct{}
}

// Configured is the configuration of the node at one time, and how it follows its files.
type Configured struct {
	Settings Settings
	Warnings []Warning
	Configz  []byte // the body of /configz

	Files   []string // that are watched; empty if there are none
	ReadAt  time.Time
	Fault   string    // why what the files hold now is not in force; empty if it is
	Taken   []string  // settings that changed while the node ran, the last time that some did
	TakenAt time.Time // zero if none did
	Waiting []Waiting // for a restart
}

// Waiting is a setting whose value in the files waits for a restart.
type Waiting struct {
	Setting         string
	Running, Wanted []byte // as JSON, without secrets
}

// noConfiguration is that of a server without a node behind it.
type noConfiguration struct{}

func (noConfiguration) Read() Configured         { return Configured{} }
func (noConfiguration) Changed() <-chan struct{} { return nil }

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
	TakenBy    string // the part that takes another value while the node runs; empty if that waits for a restart
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
	answer, settings := &nodev1.GetNodeConfigResponse{}, s.config.Read().Settings
	for _, one := range settings.All {
		if request.GetGivenOnly() && one.Source == "" {
			continue
		}
		value := &structpb.Value{}
		if err := value.UnmarshalJSON(one.Value); err != nil {
			return nil, fmt.Errorf("show setting %s: %w", one.Name, err)
		}
		takenBy := nodev1.TakenBy_TAKEN_BY_RESTART
		if one.TakenBy != "" {
			takenBy = nodev1.TakenBy_TAKEN_BY_RELOAD
		}
		answer.Settings = append(answer.Settings, &nodev1.NodeSetting{
			Name: one.Name, Flag: one.Flag, Source: one.Source, Value: value, Instead: one.Instead, TakenBy: takenBy,
		})
	}
	for _, g := range settings.Gates {
		if request.GetGivenOnly() && g.Told == nil {
			continue
		}
		answer.FeatureGates = append(answer.FeatureGates, &nodev1.FeatureGate{
			Name: g.Name, Stage: g.Stage, Told: g.Told, InForce: g.InForce, Note: g.Means, WithoutEffect: g.Unmet,
		})
	}
	return answer, nil
}

// showConfigured returns how the node follows its files, or nil if it has read none.
func showConfigured(c Configured) *nodev1.Configuration {
	if c.ReadAt.IsZero() {
		return nil
	}
	shown := &nodev1.Configuration{ReadAt: timestamppb.New(c.ReadAt), Files: c.Files, Fault: c.Fault, Taken: c.Taken}
	if !c.TakenAt.IsZero() {
		shown.TakenAt = timestamppb.New(c.TakenAt)
	}
	for _, w := range c.Waiting {
		shown.NeedsRestart = append(shown.NeedsRestart, &nodev1.WaitingSetting{
			Name: w.Setting, Running: valueOf(w.Running), Wanted: valueOf(w.Wanted),
		})
	}
	return shown
}

// valueOf returns a value that is JSON, or else its text.
func valueOf(text []byte) *structpb.Value {
	value := &structpb.Value{}
	if err := value.UnmarshalJSON(text); err != nil {
		return structpb.NewStringValue(string(text))
	}
	return value
}
