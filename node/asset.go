package node

import (
	"cmp"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// AssetKind tells assets apart.
type AssetKind string

const (
	// ReleasedVolume is a PersistentVolume that the node has made and now removes, because
	// its claim was deleted.
	ReleasedVolume AssetKind = "ReleasedVolume"
	// RegisteredPlugin is a socket in the plugin registry. The node asks the plugin behind it for its
	// name, answers it, and forgets it when the socket is gone.
	RegisteredPlugin AssetKind = "RegisteredPlugin"
)

// AssetKey names one asset of the node.
type AssetKey struct {
	Kind AssetKind
	Name string
}

func (k AssetKey) String() string { return string(k.Kind) + "/" + k.Name }

// Compare orders keys by kind and name.
func (k AssetKey) Compare(other AssetKey) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name))
}

// Asset is something on the node that does not belong to a single pod, as it is wanted
// now. It follows from what pods and objects need; no record of it is kept.
type Asset struct {
	Key    AssetKey
	Users  []Key                    // pods that use it or wait for it, in order
	Volume *corev1.PersistentVolume // of a ReleasedVolume
	Plugin PluginWish               // of a RegisteredPlugin
}

// AssetLook holds what a look at an asset shows.
type AssetLook struct {
	There  bool   // something of it is on the machine
	Plugin Plugin // of a RegisteredPlugin
}

// AssetState holds what was observed of an asset on the machine. It is a value that the
// reconciler replaces.
type AssetState struct {
	Mark Mark
	AssetLook
	Faults map[string]Fault // by action target
}

// Clone returns a copy whose faults may be written.
func (s *AssetState) Clone() *AssetState {
	c := *s
	c.Faults = maps.Clone(s.Faults)
	return &c
}

// AssetAction is an action that says itself what it leaves of an asset. An asset is looked at
// after any other action.
type AssetAction interface {
	Action
	// Fold puts the effect of the action into what is known.
	Fold(*AssetLook)
}

var (
	_ AssetAction = RemoveFiles{}
	_ AssetAction = ForgetVolume{}
)

type (
	// RemoveFiles removes the files of a volume.
	RemoveFiles struct{ Volume *corev1.PersistentVolume }
	// ForgetVolume removes the record of a volume.
	ForgetVolume struct{ Volume *corev1.PersistentVolume }
)

func (RemoveFiles) Target() string  { return "files" }
func (ForgetVolume) Target() string { return "record" }

func (a RemoveFiles) String() string  { return "remove the files of volume " + a.Volume.Name }
func (a ForgetVolume) String() string { return "forget volume " + a.Volume.Name }

// AssetRest bounds the pauses after which an asset that failed is tried or looked at again.
var AssetRest = Rest{time.Minute, time.Minute}

// About is Quick although it may take long: nothing else is done about the volume meanwhile.
func (RemoveFiles) About() About {
	return About{Place: OnMachine, Nature: Quick, Rest: AssetRest}
}
func (ForgetVolume) About() About {
	return About{Place: InJournal, Nature: Quick, Rest: AssetRest}
}

// Fold says that no files are left.
func (RemoveFiles) Fold(l *AssetLook) { l.There = false }

// Fold changes nothing: the asset goes with the record.
func (ForgetVolume) Fold(*AssetLook) {}
