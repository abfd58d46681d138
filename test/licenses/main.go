// Command licenses collects the licences of all that is linked into the kubelet, of the programs that it brings along, and
// of the dashboard's libraries. `make licenses` runs it; the kubelet prints what it writes.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// names matches files that hold the terms of a library, or what it wants to be told beside them.
var names = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright|authors)([-._].*)?$`)

// component is one library and its texts.
type component struct {
	name, version string
	texts         []string
}

func main() {
	out := flag.String("o", "", "`path` of the file to write")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func write(path string) error {
	all, err := components()
	if err != nil {
		return err
	}
	text, err := document(all)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(z, text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}

// linked are the packages that are built, by the directory of their module, with the tags that decide what they import.
var linked = []struct{ dir, tags, packages string }{
	{".", "bundle,grpcnotrace", "./cmd/kubelet ./cmd/apisync"},
	{"host/runtime/bundle", "no_systemd,no_rdt,nri_no_wasm,grpcnotrace,urfave_cli_no_docs", "./containerd"},
	{"host/runtime/bundle", "no_systemd,no_rdt,nri_no_wasm,grpcnotrace,urfave_cli_no_docs,no_grpc", "./containerd-shim-runc-v2"},
	{"host/runtime/bundle", "", "./network github.com/containernetworking/plugins/plugins/meta/portmap"},
	{"host/runtime/bundle", "seccomp,netgo,osusergo,no_systemd,no_rdt", "github.com/opencontainers/runc"},
}

func components() ([]component, error) {
	found := map[string]component{}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, l := range linked {
			if err := modules(found, arch, l.dir, l.tags, strings.Fields(l.packages)); err != nil {
				return nil, err
			}
		}
	}
	standard, err := standardLibrary()
	if err != nil {
		return nil, err
	}
	scripts, err := scriptLibraries()
	if err != nil {
		return nil, err
	}
	libraries, err := staticLibraries()
	if err != nil {
		return nil, err
	}
	all := slices.Concat([]component{standard}, libraries, scripts, slices.Collect(maps.Values(found)))
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.name+a.version, b.name+b.version) })
	for _, c := range all {
		if len(c.texts) == 0 {
			return nil, fmt.Errorf("%s %s has no licence", c.name, c.version)
		}
	}
	return all, nil
}

// modules adds the modules of packages and of all that they import.
func modules(found map[string]component, arch, dir, tags string, packages []string) error {
	list := exec.Command("go", append([]string{"list", "-e", "-deps", "-tags", tags, "-f",
		"{{if .Module}}{{if not .Module.Main}}{{.Module.Path}}\t{{.Module.Version}}\t{{.Module.Dir}}\t{{.Dir}}{{end}}{{end}}"}, packages...)...)
	list.Dir, list.Stderr = dir, os.Stderr
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=-mod=readonly")
	lines, err := list.Output()
	if err != nil {
		return fmt.Errorf("list what %s in %s imports: %w", packages, dir, err)
	}
	for line := range strings.Lines(string(lines)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			continue
		}
		key := f[0] + " " + f[1]
		c := found[key]
		c.name, c.version = f[0], f[1]
		// A directory of a module may have terms of its own.
		for at := f[3]; strings.HasPrefix(at, f[2]); at = filepath.Dir(at) {
			texts, err := textsIn(at)
			if err != nil {
				return err
			}
			c.add(texts)
		}
		found[key] = c
	}
	return nil
}

func (c *component) add(texts []string) {
	for _, text := range texts {
		if !slices.Contains(c.texts, text) {
			c.texts = append(c.texts, text)
		}
	}
	slices.Sort(c.texts)
}

// textsIn returns the licences of one directory.
func textsIn(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !names.MatchString(e.Name()) || !e.Type().IsRegular() || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	return texts, nil
}

func standardLibrary() (component, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return component{}, fmt.Errorf("find Go: %w", err)
	}
	c := component{name: "the Go standard library and runtime"}
	texts, err := textsIn(strings.TrimSpace(string(root)))
	c.add(texts)
	return c, err
}

// scriptLibraries returns what the dashboard is built from. What only its build and tests need is not in it.
func scriptLibraries() (all []component, err error) {
	text, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("read web/package-lock.json: %w", err)
	}
	for path, p := range lock.Packages {
		if path == "" || p.Dev || p.Optional {
			continue
		}
		texts, err := textsIn(filepath.Join("web", path))
		if err != nil {
			return nil, fmt.Errorf("%w (make web installs the dashboard's libraries)", err)
		}
		if len(texts) == 0 && p.License != "" {
			texts = []string{"Licence: " + p.License}
		}
		_, name, _ := strings.Cut(path, "node_modules/")
		c := component{name: name, version: p.Version}
		c.add(texts)
		all = append(all, c)
	}
	return all, nil
}

// staticLibraries are those of C in runc, which is linked statically. Debian has their terms.
func staticLibraries() ([]component, error) {
	terms, err := os.ReadFile("/usr/share/common-licenses/LGPL-2.1")
	if err != nil {
		return nil, fmt.Errorf("read the terms of libseccomp and the C library: %w", err)
	}
	text := []string{strings.TrimSpace(string(terms))}
	return []component{{"libseccomp (in runc)", "", text}, {"the GNU C library (in runc)", "", text}}, nil
}

// document writes each text once, below the names of all that it is for.
func document(all []component) (string, error) {
	if len(all) == 0 {
		return "", errors.New("there is nothing to list")
	}
	var b strings.Builder
	b.WriteString("This program contains the work of others. These are their names, and below them their terms.\n\n")
	for _, c := range all {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(c.name+" "+c.version))
	}
	holders := map[string][]string{}
	for _, c := range all {
		for _, text := range c.texts {
			holders[text] = append(holders[text], c.name)
		}
	}
	texts := slices.SortedFunc(maps.Keys(holders), func(a, b string) int {
		return strings.Compare(holders[a][0]+a, holders[b][0]+b)
	})
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 100), strings.Join(slices.Compact(holders[text]), "\n"), text)
	}
	return b.String(), nil
}
