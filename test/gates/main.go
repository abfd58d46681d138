package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declarations are the files that declare the gates of a kubelet, by their modules.
var declarations = []struct{ module, file string }{
	{"kubernetes", "pkg/features/kube_features.go"},
	{"apiserver", "pkg/features/kube_features.go"},
	{"apiextensions-apiserver", "pkg/features/kube_features.go"},
	{"controller-manager", "pkg/features/kube_features.go"},
	{"client-go", "features/known_features.go"},
	{"component-base", "logs/api/v1/kube_features.go"},
	{"component-base", "metrics/features/kube_features.go"},
	{"component-base", "zpages/features/kube_features.go"},
}

// common are the modules whose gates work in every component.
var common = []string{"client-go", "component-base"}

// kubeletPackages are the directories of kubernetes whose packages make the kubelet.
var kubeletPackages = []string{
	"cmd/kubelet", "pkg/api/v1", "pkg/apis/core/v1/helper", "pkg/credentialprovider", "pkg/kubelet", "pkg/probe",
	"pkg/securitycontext", "pkg/util", "pkg/volume",
}

// always are declared by the mechanism of the gates itself.
var always = map[string]spec{
	"AllAlpha": {stage: "alpha", constant: "AllAlpha"}, "AllBeta": {stage: "beta", constant: "AllBeta"},
}

// A release is one minor version of Kubernetes.
type release struct {
	minor   string
	gates   map[string]spec
	kubelet map[string]bool // gates that the kubelet uses, by their constants
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("gates: name the releases, such as v1.36.3 v1.37.2")
	}
	var releases []release
	for _, version := range os.Args[1:] {
		r, err := read(version)
		if err != nil {
			log.Fatalf("gates: read %s: %v", version, err)
		}
		releases = append(releases, r)
	}
	fmt.Print(table(releases))
}

// read reads one release, such as v1.37.2.
func read(version string) (release, error) {
	minor, err := strconv.Atoi(strings.Split(strings.TrimPrefix(version, "v1."), ".")[0])
	if err != nil {
		return release{}, fmt.Errorf("want a version such as v1.37.2: %w", err)
	}
	r := release{"1." + strconv.Itoa(minor), maps.Clone(always), map[string]bool{"AllAlpha": true, "AllBeta": true}}
	for _, d := range declarations {
		dir, err := download(d.module, version)
		if err != nil {
			return r, err
		}
		gates, err := specsOf(filepath.Join(dir, d.file), nil, minor)
		if err != nil {
			return r, err
		}
		maps.Copy(r.gates, gates)
		for _, g := range gates {
			r.kubelet[g.constant] = r.kubelet[g.constant] || slices.Contains(common, d.module)
		}
		if d.module == "kubernetes" {
			if err := markUsed(r.kubelet, dir); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// download returns the directory of a module of a release. All but kubernetes itself count as v0.
func download(module, version string) (string, error) {
	if module != "kubernetes" {
		version = "v0" + strings.TrimPrefix(version, "v1")
	}
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/"+module+"@"+version).Output()
	if err != nil {
		return "", fmt.Errorf("download k8s.io/%s@%s: %w", module, version, err)
	}
	var fetched struct{ Dir string }
	if err := json.Unmarshal(out, &fetched); err != nil {
		return "", fmt.Errorf("download k8s.io/%s@%s: %w", module, version, err)
	}
	return fetched.Dir, nil
}

var mention = regexp.MustCompile(`[a-zA-Z]*features\.([A-Z]\w+)`)

// markUsed marks the gates that the kubelet's packages mention.
func markUsed(used map[string]bool, dir string) error {
	for _, pkg := range kubeletPackages {
		err := filepath.WalkDir(filepath.Join(dir, pkg), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range mention.FindAllSubmatch(text, -1) {
				used[string(found[1])] = true
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look for gates: %w", err)
		}
	}
	return nil
}

// table writes a line for each gate: what the newest release says of it, and whether each that has it fixes it.
func table(releases []release) string {
	all := map[string][]release{}
	for _, r := range releases {
		for name := range r.gates {
			all[name] = append(all[name], r)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fixed, kubelet := true, false
		var minors []string
		for _, r := range all[name] {
			fixed, kubelet = fixed && r.gates[name].fixed, kubelet || r.kubelet[r.gates[name].constant]
			minors = append(minors, r.minor)
		}
		newest := all[name][len(all[name])-1].gates[name]
		fmt.Fprintln(&b, name, newest.stage, word(newest.on, "on", "off"), word(fixed, "fixed", "free"),
			word(kubelet, "kubelet", "other"), strings.Join(minors, ","))
	}
	return b.String()
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
