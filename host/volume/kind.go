package volume

import (
	"context"
	"fmt"

	"nodal/node"
)

// kind holds what is particular to one kind of volume.
type kind struct {
	dir     string // its name in paths; empty if such volumes lie elsewhere on the machine
	below   string // where it is mounted in its own directory; empty if right there
	content bool   // the node writes it, and containers only read it
	remote  bool   // it lies on a server, which may not answer
	setUp   func(*Tree, context.Context, place) error
}

func kindOf(at place) (kind, error) {
	s := &at.volume.VolumeSource
	switch {
	case at.block() && at.lasting.Spec.CSI == nil:
		return kind{setUp: (*Tree).setUpBlock}, nil
	case at.lasting != nil && at.lasting.Spec.Local != nil:
		return kind{dir: "kubernetes.io~local-volume", setUp: (*Tree).setUpLocal}, nil
	case at.lasting != nil && at.lasting.Spec.CSI != nil:
		return kind{dir: csiDir, below: "mount", remote: true, setUp: (*Tree).setUpCSI}, nil
	case s.EmptyDir != nil:
		return kind{dir: "kubernetes.io~empty-dir", setUp: (*Tree).setUpEmptyDir}, nil
	case s.HostPath != nil:
		return kind{setUp: (*Tree).setUpHostPath}, nil
	case s.ConfigMap != nil:
		return kind{dir: "kubernetes.io~configmap", content: true, setUp: (*Tree).setUpConfigMap}, nil
	case s.Secret != nil:
		return kind{dir: "kubernetes.io~secret", content: true, setUp: (*Tree).setUpSecret}, nil
	case s.DownwardAPI != nil:
		return kind{dir: "kubernetes.io~downward-api", content: true, setUp: (*Tree).setUpDownwardAPI}, nil
	case s.Projected != nil:
		return kind{dir: "kubernetes.io~projected", content: true, setUp: (*Tree).setUpProjected}, nil
	case s.NFS != nil:
		return kind{dir: "kubernetes.io~nfs", remote: true, setUp: (*Tree).setUpNFS}, nil
	case s.Image != nil: // the runtime has it already
		return kind{setUp: func(*Tree, context.Context, place) error { return nil }}, nil
	}
	return kind{}, fmt.Errorf("its kind of volume: %w", node.ErrUnsupported)
}
