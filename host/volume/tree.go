package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodal/node"
)

// Names below the directory of a pod, as every kubelet has them.
const (
	volumesDir  = "volumes"
	subPathsDir = "volume-subpaths"
)

// Config holds the places and sources of volumes, besides the pods.
type Config struct {
	Pods        string // the directory of all pods, such as /var/lib/kubelet/pods
	Local       string // the directory of the volumes that the node makes for claims
	Objects     Objects
	Allocatable func() corev1.ResourceList // stands in for a limit that is not set; nil if unknown
	NFSHelper   string                     // the program that mounts nfs; empty means mount.nfs
	CSI         Drivers                    // nil if there are none
	// Swept is called after each sweep with two numbers of pods: those whose volumes were removed, and those where that
	// failed. nil disables it.
	Swept func(removed, failed int)
}

// Objects finds the objects that pods use.
type Objects interface {
	Object(node.ObjectRef) (*node.Object, bool)
	Objects(node.ObjectKind) ([]*node.Object, int64) // and the revision that they show
}

// Tree is the place of all pods' volumes. Its methods may be called from any
// goroutine, but not two at once for one volume.
type Tree struct {
	Config

	mu    sync.Mutex
	inUse map[types.UID]int  // pods whose volumes are being laid out
	swept map[types.UID]bool // pods whose volumes are being taken away by a sweep
	stuck map[string]bool    // calls that wait for a server

	alone sync.Mutex // held to see whether another pod has a volume, and to take it
}

// New makes a Tree. Nothing is written before the first volume.
func New(c Config) *Tree {
	c.NFSHelper = cmp.Or(c.NFSHelper, "mount.nfs")
	return &Tree{Config: c, inUse: map[types.UID]int{}, swept: map[types.UID]bool{}, stuck: map[string]bool{}}
}

func (t *Tree) allocatable() corev1.ResourceList {
	if t.Allocatable == nil {
		return nil
	}
	return t.Allocatable()
}

// place is one volume with its directory, if it has one.
type place struct {
	pod    *corev1.Pod
	volume *corev1.Volume
	dir    string

	lasting  *corev1.PersistentVolume // what its claim is bound to, or stands for an inline csi volume
	readOnly bool                     // whatever containers say
	ending   bool                     // its claim is being deleted
}

// SetUp lays out a volume of a pod, or brings it up to date. It changes nothing that is already right.
func (t *Tree) SetUp(ctx context.Context, pod *node.Pod, name string) error {
	if err := t.enter(pod.UID()); err != nil {
		return err
	}
	defer t.leave(pod.UID())
	return failedSetUp(name, t.setUp(ctx, pod.Allocated(), name))
}

// failedSetUp says in Kubernetes' words that a volume could not be laid out. It returns nil without an error.
func failedSetUp(volume string, err error) error {
	if err == nil {
		return nil
	}
	var failure *node.Failure
	if errors.As(err, &failure) {
		return failure // it has a sentence of its own
	}
	return &node.Failure{Reason: node.FailedMount, Err: fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume, err)}
}

func (t *Tree) setUp(ctx context.Context, pod *corev1.Pod, name string) error {
	at, kind, err := t.find(pod, name)
	if err != nil {
		return err
	}
	if at.dir != "" {
		home, err := t.home(pod.UID)
		if err != nil {
			return err
		}
		// This directory is not for all users; the volumes below have their own modes.
		if err := os.MkdirAll(filepath.Join(home, volumesDir, kind.dir), 0o750); err != nil {
			return fmt.Errorf("make the directory of volumes: %w", err)
		}
	}
	if err := at.fits(); err != nil {
		return err
	}
	if err := t.aloneIn(at, kind); err != nil {
		return err
	}
	return kind.setUp(t, ctx, at)
}

// find looks a volume up in its pod, and resolves a claim to its volume.
func (t *Tree) find(pod *corev1.Pod, name string) (place, kind, error) {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return place{}, kind{}, fmt.Errorf("volume %q of pod %s: %w", name, node.KeyOf(pod), node.ErrNotFound)
	}
	at := place{pod: pod, volume: &pod.Spec.Volumes[i]}
	called := name
	if claim, ok := node.ClaimName(pod, at.volume); ok {
		var err error
		if at, err = t.claimed(at, claim); err != nil {
			return place{}, kind{}, err
		}
		called = at.lasting.Name
	}
	if at.volume.CSI != nil {
		at.lasting = node.InlineVolume(pod, at.volume)
		at.readOnly = at.lasting.Spec.CSI.ReadOnly
	}
	at.readOnly = at.readOnly || at.volume.NFS != nil && at.volume.NFS.ReadOnly
	kind, err := kindOf(at)
	if err != nil || kind.dir == "" {
		return at, kind, err
	}
	dir, err := t.podDir(pod.UID)
	at.dir = filepath.Join(dir, volumesDir, kind.dir, called, kind.below)
	return at, kind, err
}

// NodeDir returns the directory of a volume that the node has made. It returns "" for a volume on a server: a look at
// such a directory may wait for good.
func (t *Tree) NodeDir(pod *corev1.Pod, name string) (string, error) {
	at, kind, err := t.find(pod, name)
	if kind.remote {
		return "", err
	}
	return at.dir, err
}

// DrivenDir returns the directory at which a CSI driver publishes a volume of a pod. It returns "" for a volume without a
// driver.
func (t *Tree) DrivenDir(pod *corev1.Pod, name string) (string, error) {
	at, kind, err := t.find(pod, name)
	if kind.dir != csiDir {
		return "", err
	}
	return at.dir, err
}

// podDir returns the directory of a pod. It refuses a UID that would lead out of the directory of pods.
func (t *Tree) podDir(uid types.UID) (string, error) {
	name := string(uid)
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("uid %q in the path of a volume: %w", uid, node.ErrInvalid)
	}
	return filepath.Join(t.Pods, name), nil
}

// enter keeps a pod's volumes from being swept away while one is laid out. It fails if they are being swept away.
func (t *Tree) enter(uid types.UID) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.swept[uid] {
		return &node.Failure{Reason: node.FailedMount, Err: errors.New("what was left of its volumes is being taken away")}
	}
	t.inUse[uid]++
	return nil
}

func (t *Tree) leave(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inUse[uid]--; t.inUse[uid] == 0 {
		delete(t.inUse, uid)
	}
}
