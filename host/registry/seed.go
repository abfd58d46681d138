package registry

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// pauseRepository holds the image that keeps a pod's namespaces open. No such
// host exists: only this node answers for it.
const pauseRepository = "nodal.local/pause"

// unprivileged is the user of the pause container, which needs no right at all.
const unprivileged = "65534:65534"

// Seed has the store hold an image of the static program that pods are held open
// by, and returns its reference. The same program gives the same reference, so
// that a runtime that has the image asks for it no more; an older program's is
// dropped. An image that is there needs no space: a node with a full disk has to
// start, or it would never be tidied.
func (s *Store) Seed(pause []byte) (reference string, err error) {
	made, err := pauseImage(pause)
	if err != nil {
		return "", fmt.Errorf("make the pause image: %w", err)
	}
	reference = pauseRepository + ":" + made.root.Digest.Hex[:12]
	if root, ok := s.root(reference); ok && root.Digest == made.root.Digest {
		return reference, nil
	}
	st, err := s.newStage()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.remove()) }()
	st.room.asked = true // a few KiB may come out of the reserve
	image, err := made.in(st)
	if err != nil {
		return "", fmt.Errorf("make the pause image: %w", err)
	}
	image.references = []string{reference}
	older := func(reference string) bool { return strings.HasPrefix(reference, pauseRepository+":") }
	if _, err := s.commit(st, []found{image}, older); err != nil {
		return "", fmt.Errorf("keep the pause image: %w", err)
	}
	return reference, nil
}

// smallImage is an image in memory.
type smallImage struct {
	root  v1.Descriptor
	files [][]byte
}

// add adds a file and describes it.
func (i *smallImage) add(text []byte, kind types.MediaType) (v1.Descriptor, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(text))
	i.files = append(i.files, text)
	return v1.Descriptor{Digest: digest, Size: size, MediaType: kind}, err
}

// in writes the files of the image.
func (i *smallImage) in(st *stage) (found, error) {
	for _, text := range i.files {
		if _, err := st.add(bytes.NewReader(text)); err != nil {
			return found{}, err
		}
	}
	tree, err := readTree(st, i.root)
	return found{root: i.root, tree: tree}, err
}

func pauseImage(program []byte) (*smallImage, error) {
	made := &smallImage{}
	text, err := oneFile("pause", program)
	if err != nil {
		return nil, err
	}
	layer, err := made.add(text, types.OCIUncompressedLayer)
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(v1.ConfigFile{
		OS: "linux", Architecture: goruntime.GOARCH,
		Config: v1.Config{Entrypoint: []string{"/pause"}, User: unprivileged, WorkingDir: "/"},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{layer.Digest}},
	})
	if err != nil {
		return nil, err
	}
	config, err := made.add(text, types.OCIConfigJSON)
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(manifestOf(config, []v1.Descriptor{layer}))
	if err != nil {
		return nil, err
	}
	made.root, err = made.add(text, types.OCIManifestSchema1)
	return made, err
}

// oneFile is a tar archive of a program and nothing that changes with time.
func oneFile(name string, program []byte) ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR})
	if err == nil {
		_, err = w.Write(program)
	}
	return text.Bytes(), errors.Join(err, w.Close())
}
