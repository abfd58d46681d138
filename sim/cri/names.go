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

// names holds which id has reserved which name. A name is taken from the
// arrival of the creating call until the object is removed, so two calls for
// one (pod, attempt) can never both succeed, not even when they overlap.
type names map[string]string

func sandboxName(m *runtime.PodSandboxMetadata) string {
	return strings.Join([]string{
		"sandbox", m.GetName(), m.GetNamespace(), m.GetUid(), strconv.FormatUint(uint64(m.GetAttempt()), 10),
	}, "_")
}

func containerName(c *runtime.ContainerMetadata, pod *runtime.PodSandboxMetadata) string {
	return strings.Join([]string{
		"container", c.GetName(), pod.GetName(), pod.GetNamespace(), pod.GetUid(), strconv.FormatUint(uint64(c.GetAttempt()), 10),
	}, "_")
}

func (n names) reserve(name, id string) error {
	if owner, taken := n[name]; taken && owner != id {
		return fmt.Errorf("name %q is reserved for %q", name, owner)
	}
	n[name] = id
	return nil
}

// reserve takes a name for a new object and, with the name held, spends the
// time that an injected fault asks for.
func (s *Server) reserve(ctx context.Context, name string) (id string, err error) {
	id = s.newID()
	s.mu.Lock()
	err = s.names.reserve(name, id)
	s.mu.Unlock()
	if err != nil {
		// containerd wraps this in no gRPC code either.
		return "", status.Errorf(codes.Unknown, "failed to reserve name %q: %v", name, err)
	}
	if err := stall(ctx); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.names, name)
		return "", err
	}
	return id, nil
}
