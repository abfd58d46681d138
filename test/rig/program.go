package rig

import (
	"fmt"
	"io"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// SaveProgram writes images in the format of docker save. Each is named by a reference, and holds one static program of
// this machine under the name that it has there.
func SaveProgram(w io.Writer, path string, names map[string]string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("save images of %s: %w", path, err)
	}
	files := []file{{name: "bin/program", data: program}, {name: "tmp/", mode: 0o1777}}
	for _, called := range names {
		files = append(files, file{name: "bin/" + called, link: "program"})
	}
	image, err := buildImage(files, nil, nil)
	if err != nil {
		return fmt.Errorf("save images of %s: %w", path, err)
	}
	images := map[name.Tag]v1.Image{}
	for reference := range names {
		tag, err := name.NewTag(reference)
		if err != nil {
			return fmt.Errorf("save images of %s: %w", path, err)
		}
		images[tag] = image
	}
	return tarball.MultiWrite(images, w)
}
