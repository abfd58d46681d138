package server

import (
	"context"
	"fmt"

	nodev1 "nodal/api/gen/node/v1"
	"nodal/node"
)

// GetLogLevel returns how much the agent logs.
func (s *nodeService) GetLogLevel(context.Context, *nodev1.GetLogLevelRequest) (*nodev1.GetLogLevelResponse, error) {
	return &nodev1.GetLogLevelResponse{Verbosity: new(s.verbosity.Level())}, nil
}

// SetLogLevel changes how much the agent logs. The kubelet's path for that is /debug/flags/v.
func (s *nodeService) SetLogLevel(
	_ context.Context, r *nodev1.SetLogLevelRequest,
) (*nodev1.SetLogLevelResponse, error) {
	switch {
	case s.fixed:
		return nil, fmt.Errorf("verbosity: enableDebugFlagsHandler is off; set it in the configuration file: %w",
			node.ErrDenied)
	case r.Verbosity == nil:
		return nil, fmt.Errorf("verbosity is required: %w", node.ErrInvalid)
	case r.GetVerbosity() < 0:
		return nil, fmt.Errorf("verbosity %d: must be at least 0: %w", r.GetVerbosity(), node.ErrInvalid)
	}
	answer := &nodev1.SetLogLevelResponse{Previous: new(s.verbosity.Level())}
	s.verbosity.Set(r.GetVerbosity())
	return answer, nil
}
