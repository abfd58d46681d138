package cri

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// reserved is a name that only one object of its kind may have.
type reserved struct{ kind, name string }

// names maps each reserved name to the ID that holds it. A name is taken from the arrival of the
// creating call until the object is removed. So two calls for one (pod, attempt) never both
// succeed, not even when they overlap.
type names map[reserved]string

func sandboxName(m *runtime.PodSandboxMetadata) reserved {
	return reserved{"sandbox", strings.Join([]string{
		m.GetName(), m.GetNamespace(), m.GetUid(), strconv.FormatUint(uint64(m.GetAttempt()), 10),
	}, "_")}
}

func containerName(c *runtime.ContainerMetadata, pod *runtime.PodSandboxMetadata) reserved {
	return reserved{"container", strings.Join([]string{
		c.GetName(), pod.GetName(), pod.GetNamespace(), pod.GetUid(), strconv.FormatUint(uint64(c.GetAttempt()), 10),
	}, "_")}
}

func (n names) reserve(name reserved, id string) error {
	if owner, taken := n[name]; taken {
		return fmt.Errorf("failed to reserve %s name %q: name %q is reserved for %q", name.kind, name.name, name.name, owner)
	}
	n[name] = id
	return nil
}

// reserve takes a name for a new object. It holds the name while it waits out an injected delay.
func (s *Server) reserve(ctx context.Context, name reserved) (id string, err error) {
	id = s.newID()
	s.mu.Lock()
	err = s.names.reserve(name, id)
	s.mu.Unlock()
	if err != nil {
		// containerd gives this error no gRPC code either
		return "", status.Error(codes.Unknown, err.Error())
	}
	if err := stall(ctx); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.names, name)
		return "", err
	}
	return id, nil
}
