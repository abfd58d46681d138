package node

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Kubernetes' reasons why an image is not ready.
const (
	ErrImagePull              = "ErrImagePull"
	ImagePullBackOff          = "ImagePullBackOff"
	ErrImageNeverPull         = "ErrImageNeverPull"
	InvalidImageName          = "InvalidImageName"
	ImageInspectError         = "ImageInspectError"
	RegistryUnavailable       = "RegistryUnavailable"
	SignatureValidationFailed = "SignatureValidationFailed"
)

// PullFailed reports whether a reason stands for a failed pull, after which the node pauses.
func PullFailed(reason string) bool {
	switch reason {
	case ErrImagePull, RegistryUnavailable, SignatureValidationFailed:
		return true
	}
	return false
}

// LocalImage is an image on the machine, under all its names.
type LocalImage struct {
	ID         string
	References []string // with a tag
	Digests    []string // references with a digest
	Size       int64    // bytes
	Pinned     bool     // the runtime never gives it up
}

// Pull is a pull under way, with its waiters.
type Pull struct {
	Ref     string    // with a tag or digest
	Asked   time.Time // by the first waiter
	Began   time.Time // zero while it waits for its turn
	Waiters []PullWaiter
	Bytes   *PullBytes // nil if unknown
}

// PullWaiter is a part of a pod that waits for an image: a container or a volume.
type PullWaiter struct {
	Pod       Key
	UID       types.UID
	Container string
	Volume    string
}

// PullBytes counts the bytes of an image that are present, packed as the registry keeps them.
type PullBytes struct {
	Present int64 // on the machine, from this pull or from before
	Total   int64
}

// Credential identifies the caller to a registry. Printing or logging it shows nothing.
type Credential struct {
	Username      string
	Password      string
	IdentityToken string // to ask for other tokens with
	RegistryToken string // sent as it is
}

const redacted = "[redacted]"

// String, GoString and MarshalText keep it out of messages, however they are made.
func (Credential) String() string               { return redacted }
func (Credential) GoString() string             { return redacted }
func (Credential) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// ImportedImage is an image that an import added.
type ImportedImage struct {
	Reference string // in full: docker.io/library/nginx:1.25
	Digest    string // of the manifest or index
	ID        string // as runtimes have it: the digest of the image's configuration
	Size      int64  // bytes of all its blobs
}

// Import says how the images of a tarball are to be imported.
type Import struct {
	Name string // for the one image of the tarball, instead of its own
	// May returns an error if the caller may not give an image this name, in full. It is called before anything changes.
	May  func(reference string) error
	Tell func(ImportProgress) // called now and then, in the caller's goroutine
}

// ImportProgress says how far an import has come.
type ImportProgress struct {
	Read      int64  // bytes of the tarball
	Reference string // of the image that the runtime is taking; empty while the tarball is read
}

// ImageRemoval is an image that has to go, and why.
type ImageRemoval struct {
	Image LocalImage
	Why   string
	Cause RemovalCause
}

// RemovalCause is the part of the policy that an image has to go for, by Kubernetes' name.
type RemovalCause string

const (
	CauseAsked RemovalCause = "" // no policy: a client asked for it
	CauseAge   RemovalCause = "age"
	CauseSpace RemovalCause = "space"
)
