package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1alpha1"
	policies "k8s.io/kubelet/config/v1beta1"

	"nodal/host/image/credential"
	"nodal/host/replace"
	"nodal/node"
)

// Verification names the present images for which a pod has to prove that it could have pulled them.
type Verification struct {
	Policy policies.ImagePullCredentialsVerificationPolicy // empty means for no image
	Allow  []string                                        // images, or "registry/path/*", that came from elsewhere and are for all
	Dir    string                                          // of the records, in the form that every kubelet has
}

// records keeps in files which credentials each image was pulled with: a restart must not
// open an image to every pod. The files hold hashes, no credential.
type records struct {
	Verification
	mu      sync.Mutex
	pulling map[string]*intent // by reference
}

// intent is a note on the disk that a reference is being pulled.
type intent struct {
	pulls int  // under way
	stale bool // the note has to stay: a crash left it, or a pull may have brought an unrecorded image
}

// none reports whether every pod may use every present image.
func (r *records) none() bool { return r.Policy == "" || r.Policy == policies.NeverVerify }

// mayUse reports whether a pod may use a present image. It asks for the pod's keys only if
// the answer depends on them.
func (r *records) mayUse(image node.LocalImage, ref string, keys func() []credential.Key) (bool, error) {
	if r.none() {
		return true, nil
	}
	record, err := r.read(image.ID)
	if err != nil {
		return false, err
	}
	if record == nil {
		return !r.intended(ref) && r.preloadedFree(node.ReferenceName(ref)), nil
	}
	with, ok := record.CredentialMapping[node.ReferenceName(ref)]
	if !ok || with.NodePodsAccessible {
		return ok, nil
	}
	return slices.ContainsFunc(keys(), func(k credential.Key) bool { return proves(with, k) }), nil
}

// preloadedFree reports whether every pod may use an image that no kubelet has pulled.
func (r *records) preloadedFree(name string) bool {
	switch r.Policy {
	case policies.NeverVerifyPreloadedImages:
		return true
	case policies.NeverVerifyAllowlistedImages:
		return slices.ContainsFunc(r.Allow, func(allowed string) bool {
			prefix, wild := strings.CutSuffix(allowed, "*")
			return name == allowed || wild && strings.HasPrefix(name, prefix)
		})
	}
	return false
}

// proves reports whether an image was pulled with a key.
func proves(with kubelet.ImagePullCredentials, k credential.Key) bool {
	hash := hashOf(k)
	return slices.ContainsFunc(with.KubernetesSecrets, func(s kubelet.ImagePullSecret) bool { return s.CredentialHash == hash })
}

func hashOf(k credential.Key) string {
	sum := fingerprintOf([]credential.Key{k})
	return hex.EncodeToString(sum[:])
}

// intend notes that a pull begins. If the pull brings an image and a crash prevents its record, the note shows that
// the image did not come from elsewhere.
func (r *records) intend(ref string) error {
	if r.none() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	note, ok := r.pulling[ref]
	if !ok {
		note = &intent{stale: r.intended(ref)}
	}
	if err := r.write("pulling", ref, kubelet.ImagePullIntent{TypeMeta: typeMeta("ImagePullIntent"), Image: ref}); err != nil {
		return err // without the note the pull does not begin
	}
	r.pulling[ref] = note
	note.pulls++
	return nil
}

func (r *records) intended(ref string) bool {
	_, err := os.Stat(r.path("pulling", ref))
	return err == nil
}

// pullEnd is the end of a pull.
type pullEnd struct {
	outcome outcome
	image   node.LocalImage // if it was brought
	key     *credential.Key // that worked; nil if the pull was anonymous
}

type outcome uint8

const (
	unknown outcome = iota // the image may have come nevertheless
	failed
	brought
)

// over notes how a pull ended. The note of intend stays while another pull is under way, and while an image may be
// there without a record.
func (r *records) over(ref string, end pullEnd) error {
	if r.none() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	note := r.pulling[ref]
	if note.pulls--; note.pulls == 0 {
		delete(r.pulling, ref)
	}
	switch end.outcome {
	case unknown:
		note.stale = true
	case brought:
		if err := r.note(ref, end.image.ID, end.key); err != nil {
			note.stale = true
			return err
		}
		note.stale = false
	}
	if note.pulls > 0 || note.stale {
		return nil
	}
	return remove(r.path("pulling", ref))
}

// note adds a key to the record of an image. Without a key, or with one of the node's, the image is for all pods.
func (r *records) note(ref, id string, key *credential.Key) error {
	record, err := r.read(id)
	if err != nil || record == nil {
		record = &kubelet.ImagePulledRecord{} // an unreadable record proves nothing
	}
	record.TypeMeta, record.ImageRef, record.LastUpdatedTime = typeMeta("ImagePulledRecord"), id, metav1.NewTime(time.Now())
	if record.CredentialMapping == nil {
		record.CredentialMapping = map[string]kubelet.ImagePullCredentials{}
	}
	with := record.CredentialMapping[node.ReferenceName(ref)]
	switch {
	case key == nil || key.Secret == nil:
		with = kubelet.ImagePullCredentials{NodePodsAccessible: true}
	case !with.NodePodsAccessible && !proves(with, *key):
		s := key.Secret
		with.KubernetesSecrets = append(with.KubernetesSecrets, kubelet.ImagePullSecret{
			UID: string(s.UID), Namespace: s.Ref.Namespace, Name: s.Ref.Name, CredentialHash: hashOf(*key),
		})
	}
	record.CredentialMapping[node.ReferenceName(ref)] = with
	return r.write("pulled", id, record)
}

// forget drops the record of an image that is gone.
func (r *records) forget(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return remove(r.path("pulled", id))
}

func (r *records) read(id string) (*kubelet.ImagePulledRecord, error) {
	data, err := os.ReadFile(r.path("pulled", id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	record := &kubelet.ImagePulledRecord{}
	if err == nil {
		err = json.Unmarshal(data, record)
	}
	if err != nil {
		return nil, fmt.Errorf("read what image %s was pulled with: %w", id, err)
	}
	return record, nil
}

// write replaces a record.
func (r *records) write(kind, of string, record any) error {
	path := r.path(kind, of)
	data, err := json.Marshal(record)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = replace.File(path, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record the pull of %s: %w", of, err)
	}
	return nil
}

func (r *records) path(kind, of string) string {
	sum := sha256.Sum256([]byte(of))
	return filepath.Join(r.Dir, kind, "sha256-"+hex.EncodeToString(sum[:]))
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a record of a pull: %w", err)
	}
	return nil
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: kubelet.SchemeGroupVersion.String(), Kind: kind}
}
