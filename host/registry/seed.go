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
// dropped.
func (s *Store) Seed(pause []byte) (reference string, err error) {
	st, err := s.newStage()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, st.remove()) }()
	image, err := st.pauseImage(pause)
	if err != nil {
		return "", fmt.Errorf("make the pause image: %w", err)
	}
	reference = pauseRepository + ":" + image.root.Digest.Hex[:12]
	if root, ok := s.root(reference); ok && root.Digest == image.root.Digest {
		return reference, nil
	}
	image.references = []string{reference}
	older := func(reference string) bool { return strings.HasPrefix(reference, pauseRepository+":") }
	if _, err := s.commit(st, []found{image}, older); err != nil {
		return "", fmt.Errorf("keep the pause image: %w", err)
	}
	return reference, nil
}

func (st *stage) pauseImage(program []byte) (found, error) {
	text, err := oneFile("pause", program)
	if err != nil {
		return found{}, err
	}
	layer, err := st.add(bytes.NewReader(text))
	if err != nil {
		return found{}, err
	}
	layer.MediaType = types.OCIUncompressedLayer
	text, err = json.Marshal(v1.ConfigFile{
		OS: "linux", Architecture: goruntime.GOARCH,
		Config: v1.Config{Entrypoint: []string{"/pause"}, User: unprivileged, WorkingDir: "/"},
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{layer.Digest}},
	})
	if err != nil {
		return found{}, err
	}
	config, err := st.add(bytes.NewReader(text))
	if err != nil {
		return found{}, err
	}
	config.MediaType = types.OCIConfigJSON
	return st.assemble(config, []v1.Descriptor{layer})
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
