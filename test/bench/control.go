package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/test/agent"
	"nodal/test/plane"
)

// control is a control plane that logs the requests of nodes.
type control struct {
	*plane.Plane
	client *http.Client
	audit  string // path of the audit log
}

// auditPolicy logs each request of a node once, after its answer.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- {level: Metadata, userGroups: ["system:nodes"]}
- {level: None}
`

func newControl(ctx context.Context, t testing.TB, parts string) (*control, error) {
	dir, err := os.MkdirTemp("", "nodal-bench-plane-")
	if err != nil {
		return nil, fmt.Errorf("make the control plane's directory: %w", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ports, claim, err := agent.ClaimPorts()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { claim.Close() })
	policy, audit := filepath.Join(dir, "audit.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := plane.Start(ctx, plane.Config{Dir: dir, Parts: parts, Ports: ports, Flags: []string{"--audit-policy-file", policy, "--audit-log-path", audit}})
	t.Cleanup(p.Stop)
	if err != nil {
		return nil, fmt.Errorf("%w; test/cluster/parts/build.sh builds the programs", err)
	}
	client, err := p.Client()
	if err != nil {
		return nil, err
	}
	client.Timeout = 0 // a watch has no end
	c := &control{p, client, audit}
	// Pods need a service account, and no controller makes one here.
	return c, c.ask(ctx, http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "kind: ServiceAccount\napiVersion: v1\nmetadata: {name: default}\n", nil)
}

// ask sends a request as the admin, and decodes the answer.
func (c *control) ask(ctx context.Context, method, path, body string, answer any) error {
	response, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if answer == nil {
		_, err = io.Copy(io.Discard, response.Body)
	} else {
		err = json.NewDecoder(response.Body).Decode(answer)
	}
	if err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (c *control) open(ctx context.Context, method, path, body string) (*http.Response, error) {
	url := fmt.Sprintf("https://127.0.0.1:%d%s", c.Ports.Secure, path)
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Token(plane.Admin))
	r.Header.Set("Content-Type", "application/yaml")
	response, err := c.client.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return nil, errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text), err)
	}
	return response, nil
}

// sightings records what a watch has shown of pods.
type sightings struct {
	mu      sync.Mutex
	running map[string]time.Time // when the watch first showed the pod as running
	failed  map[string]bool
	gone    map[string]bool
}

// watch follows the pods until the context ends.
func (c *control) watch(ctx context.Context) (*sightings, error) {
	response, err := c.open(ctx, http.MethodGet, "/api/v1/namespaces/default/pods?watch=1", "")
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	s := &sightings{running: map[string]time.Time{}, failed: map[string]bool{}, gone: map[string]bool{}}
	go func() {
		defer response.Body.Close()
		events := json.NewDecoder(response.Body)
		for {
			var event struct {
				Type   string
				Object corev1.Pod
			}
			if events.Decode(&event) != nil {
				return // callers that wait for a sighting give up
			}
			s.note(event.Type, &event.Object)
		}
	}()
	return s, nil
}

func (s *sightings) note(kind string, p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.running[p.Name]; !known && p.Status.Phase == corev1.PodRunning {
		s.running[p.Name] = time.Now()
	}
	if p.Status.Phase == corev1.PodFailed {
		s.failed[p.Name] = true
	}
	if kind == "DELETED" {
		s.gone[p.Name] = true
	}
}

func (s *sightings) hasFailed(p pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[p.name]
}

// requests counts a node's requests to its API server.
type requests struct{ all, statuses int }

// requestsOf reads a node's requests from the audit log.
func (c *control) requestsOf(user string) (requests, error) {
	var found requests
	text, err := os.ReadFile(c.audit)
	if err != nil {
		return found, fmt.Errorf("read the audit log: %w", err)
	}
	for line := range bytes.Lines(text) {
		var note struct {
			User      struct{ Username string }
			Verb      string
			ObjectRef struct{ Resource, Subresource string }
		}
		if err := json.Unmarshal(line, &note); err != nil || note.User.Username != user {
			continue // the last line may be incomplete
		}
		found.all++
		if note.ObjectRef.Resource == "pods" && note.ObjectRef.Subresource == "status" && note.Verb != "get" {
			found.statuses++
		}
	}
	return found, nil
}
