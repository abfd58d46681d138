package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nodal/host/replace"
	"nodal/node"
)

// knownFile holds the names of the resources that have plugins, a line each, for the next agent: until their plugins
// have registered again, a pod that asks for one has to be refused and not run without it. Nothing else is kept.
const knownFile = "known-resources"

// OwnFiles returns the names of the node's own files in the directory. All others belong to plugins.
func OwnFiles() []string { return []string{socketName, knownFile} }

// Known returns the resources that had plugins when the agent before ended.
func Known(dir string) ([]corev1.ResourceName, error) {
	text, err := os.ReadFile(filepath.Join(dir, knownFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which resources had device plugins: %w", err)
	}
	var names []corev1.ResourceName
	for _, name := range strings.Fields(string(text)) {
		if node.CanExtend(name) && len(names) < mostResources {
			names = append(names, corev1.ResourceName(name))
		}
	}
	return names, nil
}

// remember writes the file, if the resources are others than it has. One whose plugin has been away for long is dropped.
func (p *Plugins) remember(now time.Time) error {
	var names []string
	for _, r := range p.Board.List() {
		if !r.Expired(now) && r.CDI.Kind == "" {
			names = append(names, string(r.Name))
		}
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	if slices.Equal(names, p.written) {
		return nil
	}
	if err := replace.File(filepath.Join(p.Dir, knownFile), []byte(strings.Join(names, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	p.written = names
	return nil
}
