package csi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"

	"nodal/node"
)

// Time limits. A driver may have to format a disk.
const (
	callDeadline  = 2 * time.Minute // as every kubelet has it
	stagePatience = 30 * time.Second
	freePatience  = 10 * time.Second // until a pod that has finished has given its volumes back
)

// Config describes where the volumes are, and what is known of drivers and Secrets.
type Config struct {
	Dir  string // in which volumes are staged, such as /var/lib/kubelet/plugins
	Pods string // the directory of all pods
	// Driver returns the plugin of a driver.
	Driver func(name string) (node.Plugin, bool)
	// Secret finds a Secret.
	Secret func(node.ObjectRef) (*node.Object, bool)
	// Called is told of each call to a driver. nil disables it.
	Called func(driver, method string, err error, took time.Duration)
}

// Volumes are the volumes of CSI drivers on this node. Its methods may be called from any goroutine.
type Volumes struct {
	Config

	mu        sync.Mutex
	known     map[node.CSIVolume]*volume
	published map[string]node.CSIVolume // that pods have, or may have, by path

	patience time.Duration // with pods that have finished

	paths        paths // at which volumes are published
	publications Publications
}

// volume holds what this agent knows of a volume.
type volume struct {
	// busy is held to change the stage, and shared to publish: what a pod has stays staged.
	busy sync.RWMutex
	told node.Bell // of the end of each change, and of each volume that a pod has given back

	mu     sync.Mutex
	made   bool  // something of it may be there
	staged bool  // by this agent; a driver need not mount anything for that
	fault  error // of the last try to stage it
}

// hold waits until nothing else is done about a volume.
func (v *Volumes) hold(id node.CSIVolume) *volume {
	for {
		known := v.of(id)
		known.busy.Lock()
		if v.of(id) == known {
			return known
		}
		known.busy.Unlock() // it was forgotten meanwhile
	}
}

func (k *volume) release() {
	k.busy.Unlock()
	k.told.Ring()
}

// begin notes that something of the volume may be there from now on.
func (k *volume) begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made = true
}

func (k *volume) set(staged bool, fault error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made, k.staged, k.fault = true, staged, fault
}

func (k *volume) failed() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fault
}

// New finds what a former agent has left.
func New(c Config) *Volumes {
	v := &Volumes{Config: c, known: map[node.CSIVolume]*volume{}, published: map[string]node.CSIVolume{}, patience: freePatience}
	for _, dir := range tagged(filepath.Join(c.Dir, stagedIn), "*/*") {
		if t, err := readTag(dir); err == nil && dir == v.stageDir(t.volume()) {
			v.known[t.volume()] = &volume{made: true}
		}
	}
	for _, dir := range tagged(c.Pods, podsDirs) {
		if t, err := readTag(dir); err == nil {
			v.published[filepath.Join(dir, publishedAt)] = t.volume()
		}
	}
	return v
}

// note notes that a pod may have a volume from now on, and unnote that it has none.
func (v *Volumes) note(path string, id node.CSIVolume) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.published[path] = id
}

func (v *Volumes) unnote(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.published, path)
}

// Held returns the volumes of which something is on the node, or may be: they were staged, or a pod has them.
func (v *Volumes) Held() []node.CSIVolume {
	held := v.Known()
	v.mu.Lock()
	held = slices.AppendSeq(held, maps.Values(v.published))
	v.mu.Unlock()
	slices.SortFunc(held, node.CSIVolume.Compare)
	return slices.Compact(held)
}

// Known returns the volumes that were staged, or that a former agent may have left.
func (v *Volumes) Known() []node.CSIVolume {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids := make([]node.CSIVolume, 0, len(v.known))
	for id, known := range v.known {
		known.mu.Lock()
		if known.made {
			ids = append(ids, id)
		}
		known.mu.Unlock()
	}
	slices.SortFunc(ids, node.CSIVolume.Compare)
	return ids
}

// of returns what is known of a volume.
func (v *Volumes) of(id node.CSIVolume) *volume {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known[id] == nil {
		v.known[id] = &volume{}
	}
	return v.known[id]
}

// mine reports whether this agent has staged a volume.
func (v *Volumes) mine(id node.CSIVolume) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.known[id]
	if known == nil {
		return false
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	return known.staged
}

// driver returns a driver that has registered.
func (v *Volumes) driver(name string) (node.PluginInfo, error) {
	p, ok := v.Driver(name)
	if !ok {
		return node.PluginInfo{}, fmt.Errorf("driver name %s not found in the list of registered CSI drivers", name)
	}
	return p.Info, nil
}

// call makes a call to a driver.
func (v *Volumes) call(ctx context.Context, info node.PluginInfo, method string, do func(context.Context, csiapi.NodeClient) error) error {
	l, err := dial(info.Endpoint)
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	began := time.Now()
	err = do(ctx, l.node)
	if v.Called != nil {
		v.Called(info.Name, method, err, time.Since(began))
	}
	if err != nil {
		return said(err)
	}
	return nil
}

// secrets returns the content of a Secret for a driver. Without a reference there is none.
func (v *Volumes) secrets(namespace, name string) (map[string]string, error) {
	if name == "" {
		return nil, nil
	}
	secret, ok := v.Secret(node.ObjectRef{Kind: node.Secret, Namespace: namespace, Name: name})
	if !ok {
		return nil, fmt.Errorf("secret %q of namespace %q not found", name, namespace)
	}
	if err := secret.Readable(); err != nil {
		return nil, err
	}
	content := map[string]string{}
	for key, value := range secret.Data() {
		content[key] = string(value)
	}
	return content, nil
}

var errNotStaged = errors.New("it is not staged yet")
