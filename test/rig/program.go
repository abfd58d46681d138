package rig

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// SaveProgram writes images in the format of docker save. Each is named by a reference, and holds one static program of
// this machine under the name that it has there, which is also its entry point if all have the same. With them go tools
// of this machine that the program calls.
func SaveProgram(w io.Writer, path string, names map[string]string, tools ...string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("save images of %s: %w", path, err)
	}
	files := []file{{name: "bin/program", data: program}, {name: "tmp/", mode: 0o1777}}
	var entry []string
	for called := range maps.Values(names) {
		files = append(files, file{name: "bin/" + called, link: "program"}, file{name: "usr/local/bin/" + called, link: "/bin/program"})
		entry = append(entry, "/bin/"+called)
	}
	if len(entry) > 1 {
		entry = nil
	}
	more, err := toolFiles(tools)
	if err != nil {
		return fmt.Errorf("save images of %s: %w", path, err)
	}
	files = append(files, more...)
	image, err := buildImage(files, entry, nil)
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

// toolFiles returns programs of this machine with the libraries that they need, and those that iptables loads.
func toolFiles(names []string) (files []file, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	needing, err := filepath.Glob("/usr/lib/*/xtables/*.so")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
		files, needing = append(files, file{name: "bin/" + name, link: path}), append(needing, path)
	}
	linked, err := exec.Command("ldd", needing...).Output()
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %q: %w", names, err)
	}
	paths := map[string]bool{}
	for word := range strings.FieldsSeq(string(linked)) {
		if strings.HasPrefix(word, "/") {
			paths[strings.TrimSuffix(word, ":")] = true
		}
	}
	for path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: path[1:], data: data})
	}
	return files, nil
}
